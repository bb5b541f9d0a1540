#define COUNTERPOISE_ISA avx512
#define COUNTERPOISE_LANES 8
#define COUNTERPOISE_TABLE kernels_avx512
#include "kernels.inl"
