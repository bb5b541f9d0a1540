// The native extension: one namespace for each subpackage that has native code.
#include "arguments.hpp"

#define NUMBER_TEXT_OF(x) #x
#define NUMBER_TEXT(x) NUMBER_TEXT_OF(x)

// The name of the compiler at work, for the messages of the self-check.
#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#elif defined(_MSC_VER)
#define COMPILER "MSVC " NUMBER_TEXT(_MSC_FULL_VER)
#else
#define COMPILER "an unknown compiler"
#endif

namespace {

const struct {
    const char* name;
    bool (*fill)(PyObject*);
} parts[] = {
    {"control", counterpoise::add_control},     {"dynamics", counterpoise::add_dynamics},
    {"plants", counterpoise::add_plants},       {"recording", counterpoise::add_recording},
    {"sensing", counterpoise::add_sensing},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Native code, a namespace for each subpackage.", -1, nullptr,
                          nullptr,               nullptr,   nullptr,                                         nullptr};

bool add_parts(PyObject* module) {
    for (const auto& part : parts) {
        PyObject* space = PyModule_New(part.name);
        const bool good = space != nullptr && part.fill(space) &&
                          PyModule_AddStringConstant(space, "COMPILER", COMPILER) == 0;
        if (!good) Py_CLEAR(space);
        if (!counterpoise::add_object(module, part.name, space)) return false;
    }
    return true;
}

}  // namespace

PyMODINIT_FUNC PyInit__native(void) {
    PyObject* module = PyModule_Create(&definition);
    if (module != nullptr && !add_parts(module)) Py_CLEAR(module);
    return module;
}
