#define COUNTERPOISE_ISA baseline
#define COUNTERPOISE_LANES 2
#define COUNTERPOISE_TABLE kernels_baseline
#include "kernels.inl"
