// The name of the compiler at work, for the messages of the self-check.
#pragma once

#define COUNTERPOISE_NUMBER_TEXT_OF(x) #x
#define COUNTERPOISE_NUMBER_TEXT(x) COUNTERPOISE_NUMBER_TEXT_OF(x)

#if defined(__clang__)
#define COUNTERPOISE_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COUNTERPOISE_COMPILER "gcc " __VERSION__
#elif defined(_MSC_VER)
#define COUNTERPOISE_COMPILER "MSVC " COUNTERPOISE_NUMBER_TEXT(_MSC_FULL_VER)
#else
#define COUNTERPOISE_COMPILER "an unknown compiler"
#endif
