#define COUNTERPOISE_ISA avx2
#define COUNTERPOISE_LANES 4
#define COUNTERPOISE_TABLE kernels_avx2
#include "kernels.inl"
