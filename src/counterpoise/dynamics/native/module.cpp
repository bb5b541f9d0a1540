// The native kernels as Python types: their creation, their documentation, and the choice of an instruction set.
#include "construction.hpp"
#include "methods.hpp"
#include "plate_methods.hpp"

namespace {

#define METHOD(name, signature) \
    {#name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(kernel_##name)), METH_FASTCALL | METH_KEYWORDS, \
     signature}
PyMethodDef kernel_methods[] = {
    METHOD(gravity, "($self, q, out=None)"),
    METHOD(inverse_dynamics, "($self, q, dq, ddq, out=None)"),
    METHOD(base_wrench, "($self, q, dq=None, ddq=None, out=None)"),
    METHOD(center_of_mass, "($self, q, out=None)"),
    METHOD(forward_kinematics, "($self, q, at=None, out=None)"),
    METHOD(jacobian, "($self, q, at=None, out=None)"),
    METHOD(wrench_torque, "($self, q, wrench, at=None, out=None)"),
    METHOD(gravity_regressor, "($self, q, out=None)"),
    METHOD(inertial_regressor, "($self, q, dq=None, ddq=None, out=None)"),
    METHOD(base_wrench_regressor, "($self, q, dq=None, ddq=None, out=None)"),
    {nullptr, nullptr, 0, nullptr},
};
#undef METHOD

PyGetSetDef kernel_members[] = {{"tree", kernel_tree, nullptr, "The compiled tree.", nullptr},
                                {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef plate_methods[] = {
    {"joint_torques", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(plate_joint_torques)),
     METH_FASTCALL | METH_KEYWORDS, "($self, q, wrench, dq=None, ddq=None, form='auto', out=None)"},
    {"_set_reading", plate_set_reading, METH_O, "($self, matrix)"},
    {"_set_form", plate_set_form, METH_VARARGS, "($self, form, offset, gravity, moves)"},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef plate_members[] = {{"robot", plate_robot, nullptr, "The robot.", nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};

// Gives methods the docstrings of a reference class. The texts live as long as the process.
bool borrow_docstrings(PyObject* reference, PyMethodDef* methods) {
    for (PyMethodDef* method = methods; method->ml_name != nullptr; ++method) {
        PyObject* function = PyObject_GetAttrString(reference, method->ml_name);
        PyObject* text = function == nullptr ? nullptr : PyObject_GetAttrString(function, "__doc__");
        const char* utf8 = text == nullptr ? nullptr : text == Py_None ? "" : PyUnicode_AsUTF8(text);
        if (utf8 != nullptr) {
            const std::string full = std::string(method->ml_name) + method->ml_doc + "\n--\n\n" + utf8;
            char* kept = static_cast<char*>(std::malloc(full.size() + 1));
            if (kept != nullptr) method->ml_doc = std::strcpy(kept, full.c_str());
        }
        Py_XDECREF(function);
        Py_XDECREF(text);
        if (utf8 == nullptr) return false;
    }
    return true;
}

bool import_helpers() {
    PyObject* inputs = PyImport_ImportModule("counterpoise.dynamics.inputs");
    PyObject* reference = PyImport_ImportModule("counterpoise.dynamics.reference");
    PyObject* errors = PyImport_ImportModule("counterpoise.errors");
    if (inputs != nullptr && reference != nullptr && errors != nullptr) {
        as_rows = PyObject_GetAttrString(inputs, "as_rows");
        refuse_bad_entries = PyObject_GetAttrString(inputs, "refuse_bad_entries");
        check_out = PyObject_GetAttrString(inputs, "check_out");
        link_index = PyObject_GetAttrString(inputs, "link_index");
        refuse_wrench_shape = PyObject_GetAttrString(inputs, "refuse_wrench_shape");
        wrench_components = PyObject_GetAttrString(reference, "WRENCH_COMPONENTS");
        unphysical = PyObject_GetAttrString(reference, "unphysical");
        input_error = PyObject_GetAttrString(errors, "InputError");
    }
    Py_XDECREF(inputs);
    Py_XDECREF(reference);
    Py_XDECREF(errors);
    float64 = PyArray_DescrFromType(NPY_DOUBLE);
    name_q = PyUnicode_InternFromString("q");
    name_dq = PyUnicode_InternFromString("dq");
    name_ddq = PyUnicode_InternFromString("ddq");
    name_out = PyUnicode_InternFromString("out");
    name_at = PyUnicode_InternFromString("at");
    name_wrench = PyUnicode_InternFromString("wrench");
    name_form = PyUnicode_InternFromString("form");
    name_by_stages = PyUnicode_InternFromString("_by_stages");
    for (int f = 0; f < FORMS; ++f) form_names[f] = PyUnicode_InternFromString(FORM_TEXTS[f]);
    return PyErr_Occurred() == nullptr;
}

// Returns a new type with the reference's docstring.
PyObject* made_type(PyObject* reference, const char* name, std::size_t size, newfunc make, destructor end,
                    PyMethodDef* methods, PyGetSetDef* members) {
    if (!borrow_docstrings(reference, methods)) return nullptr;
    PyObject* doc = PyObject_GetAttrString(reference, "__doc__");
    const char* text = doc != nullptr && PyUnicode_Check(doc) ? PyUnicode_AsUTF8(doc) : "";
    PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(end)},
                           {Py_tp_methods, methods},
                           {Py_tp_getset, members},
                           {Py_tp_doc, const_cast<char*>(text)},
                           {0, nullptr}};
    PyType_Spec spec = {name, static_cast<int>(size), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    PyObject* type = PyType_FromSpec(&spec);
    Py_XDECREF(doc);
    return type;
}

PyObject* make_kernel(PyObject*, PyObject* reference) {
    if (kernel_type == nullptr) {
        if (!import_helpers()) return nullptr;
        kernel_type = made_type(reference, "counterpoise.dynamics._native.NativeKernel", sizeof(KernelObject),
                                kernel_new, kernel_dealloc, kernel_methods, kernel_members);
    }
    return kernel_type == nullptr ? nullptr : Py_NewRef(kernel_type);
}

PyObject* make_plate_kernel(PyObject*, PyObject* reference) {
    if (kernel_type == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "make_kernel() comes first: a plate's kernel computes with a robot's");
        return nullptr;
    }
    if (plate_type == nullptr)
        plate_type = made_type(reference, "counterpoise.dynamics._native.NativePlateKernel", sizeof(PlateObject),
                               plate_new, plate_dealloc, plate_methods, plate_members);
    return plate_type == nullptr ? nullptr : Py_NewRef(plate_type);
}

#if defined(COUNTERPOISE_AVX)
bool cpu_has(const char* name) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_cpu_init();
    if (std::strcmp(name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    (void)name;
    return false;
#endif
}
#endif

std::vector<const Kernels*> available_tables() {
    std::vector<const Kernels*> tables;
#if defined(COUNTERPOISE_AVX)
    if (cpu_has("avx512")) tables.push_back(&counterpoise::kernels_avx512);
    if (cpu_has("avx2")) tables.push_back(&counterpoise::kernels_avx2);
#endif
    tables.push_back(&counterpoise::kernels_baseline);
    return tables;
}

PyObject* instruction_set(PyObject*, PyObject*) { return PyUnicode_FromString(table->name); }

PyObject* instruction_sets(PyObject*, PyObject*) {
    const std::vector<const Kernels*> tables = available_tables();
    PyObject* names = PyTuple_New(static_cast<Py_ssize_t>(tables.size()));
    for (std::size_t i = 0; names != nullptr && i < tables.size(); ++i)
        PyTuple_SET_ITEM(names, static_cast<Py_ssize_t>(i), PyUnicode_FromString(tables[i]->name));
    return names;
}

PyObject* set_batch_threads(PyObject*, PyObject* argument) {
    const long threads = PyLong_AsLong(argument);
    if (threads == -1 && PyErr_Occurred()) return nullptr;
    if (threads < 1 || threads > 256) {
        PyErr_SetString(PyExc_ValueError, "the number of threads must lie from 1 to 256");
        return nullptr;
    }
    batch_threads = static_cast<int>(threads);
    Py_RETURN_NONE;
}

PyMethodDef module_methods[] = {
    {"make_kernel", make_kernel, METH_O, "Return the kernel type, documented like the given reference kernel."},
    {"make_plate_kernel", make_plate_kernel, METH_O,
     "Return the type that turns plate readings into joint torques, documented like the given reference."},
    {"instruction_set", instruction_set, METH_NOARGS, "Return the name of the instruction set in use."},
    {"instruction_sets", instruction_sets, METH_NOARGS, "Return the names of those this machine can use, best first."},
    {"set_batch_threads", set_batch_threads, METH_O, "Set on how many threads large batches run (1 to 256)."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "_native", "Native kernels.", -1, module_methods,
                                 nullptr,               nullptr,   nullptr,           nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    // COUNTERPOISE_ISA picks a lower instruction set than the best one, for tests and for comparing machines.
    const std::vector<const Kernels*> tables = available_tables();
    const char* wanted = std::getenv("COUNTERPOISE_ISA");
    table = tables.front();
    if (wanted != nullptr && *wanted != '\0') {
        table = nullptr;
        for (const Kernels* candidate : tables)
            if (std::strcmp(candidate->name, wanted) == 0) table = candidate;
        if (table == nullptr) {
            PyErr_Format(PyExc_ImportError, "COUNTERPOISE_ISA=%s is not available on this machine", wanted);
            return nullptr;
        }
    }
    return PyModule_Create(&module_definition);
}
