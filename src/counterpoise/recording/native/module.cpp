// Native readers of the logs room. Each header brings one table of functions; this file only puts them into a module.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../../dynamics/native/compiler.hpp"
#include "bag_methods.hpp"
#include "csv_numbers.hpp"

namespace {

int fill(PyObject* module) {
    for (PyMethodDef* table : {counterpoise::csv_methods, counterpoise::bag_methods}) {
        if (PyModule_AddFunctions(module, table) < 0) return -1;
    }
    return PyModule_AddStringConstant(module, "COMPILER", COUNTERPOISE_COMPILER);
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(fill)}, {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "Native readers of recordings.", 0, nullptr, slots, nullptr, nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&definition); }
