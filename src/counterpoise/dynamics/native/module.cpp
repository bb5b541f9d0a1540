// The native kernels as Python types: their creation, their documentation, and the choice of an instruction set.
#include "compiler.hpp"
#include "construction.hpp"
#include "methods.hpp"
#include "plate_methods.hpp"
#if defined(COUNTERPOISE_TEST_BUILD)
#include "stations.hpp"
#endif

namespace {

#define METHOD(name, signature) \
    {#name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(kernel_##name)), METH_FASTCALL | METH_KEYWORDS, \
     signature}
PyMethodDef kernel_methods[] = {
    METHOD(gravity, "($self, q, out=None)"),
    METHOD(inverse_dynamics, "($self, q, dq, ddq, out=None)"),
    METHOD(base_wrench, "($self, q, dq=None, ddq=None, out=None)"),
    METHOD(base_torques, "($self, q, wrench, dq=None, ddq=None, out=None)"),
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

// Copies methods with the docstrings of a reference class, or without any (None). They live as long as the process.
PyMethodDef* documented(PyObject* reference, const PyMethodDef* methods) {
    std::size_t count = 0;
    while (methods[count].ml_name != nullptr) ++count;
    PyMethodDef* copies = new PyMethodDef[count + 1];
    std::copy(methods, methods + count + 1, copies);
    for (PyMethodDef* method = copies; reference != Py_None && method->ml_name != nullptr; ++method) {
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
        if (utf8 == nullptr) {
            delete[] copies;
            return nullptr;
        }
    }
    return copies;
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

// Returns a new type with the reference's docstrings.
PyObject* made_type(PyObject* reference, const char* name, std::size_t size, newfunc make, destructor end,
                    const PyMethodDef* plain_methods, PyGetSetDef* members) {
    PyMethodDef* methods = documented(reference, plain_methods);
    if (methods == nullptr) return nullptr;
    PyObject* doc = PyObject_GetAttrString(reference, "__doc__");
    const char* text = reference != Py_None && doc != nullptr && PyUnicode_Check(doc) ? PyUnicode_AsUTF8(doc) : "";
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
    return made_type(reference, "counterpoise.dynamics._native.NativePlateKernel", sizeof(PlateObject), plate_new,
                     plate_dealloc, plate_methods, plate_members);
}

PyObject* instruction_set(PyObject*, PyObject*) { return PyUnicode_FromString(chosen_table->name); }

PyObject* use(PyObject*, PyObject* name) {
    const char* text = PyUnicode_AsUTF8(name);
    const Kernels* table = text == nullptr ? nullptr : find_table(text);
    if (table == nullptr) return nullptr;
    chosen_table = table;
    Py_RETURN_NONE;
}

PyObject* instruction_sets(PyObject*, PyObject*) {
    PyObject* lanes = PyDict_New();
    for (const Kernels* table : available_tables()) {
        PyObject* count = lanes == nullptr ? nullptr : PyLong_FromLong(table->lanes);
        if (count == nullptr || PyDict_SetItemString(lanes, table->name, count) < 0) Py_CLEAR(lanes);
        Py_XDECREF(count);
    }
    return lanes;
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
     "Return a type that turns plate readings into joint torques, documented like the given reference (None: not)."},
    {"instruction_set", instruction_set, METH_NOARGS, "Return the name of the instruction set that new kernels use."},
    {"instruction_sets", instruction_sets, METH_NOARGS,
     "Return the instruction sets that this machine can use, best first, with their numbers of lanes."},
    {"use", use, METH_O, "Let kernels made from now on compute with an instruction set."},
    {"set_batch_threads", set_batch_threads, METH_O, "Set on how many threads large batches run (1 to 256)."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "_native", "Native kernels.", -1, module_methods,
                                 nullptr,               nullptr,   nullptr,           nullptr};

#if defined(COUNTERPOISE_TEST_BUILD)
struct StationEntry {
    int set_lanes;
    const char* place;
    int lanes;
};
std::vector<StationEntry>& station_entries() {
    static std::vector<StationEntry> entries;
    return entries;
}

PyObject* stations(PyObject*, PyObject*) {
    PyObject* list = PyList_New(0);
    for (const StationEntry& entry : station_entries()) {
        PyObject* item = Py_BuildValue("isi", entry.set_lanes, entry.place, entry.lanes);
        if (item == nullptr || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
        if (list == nullptr) break;
    }
    return list;
}

PyObject* spoil(PyObject*, PyObject* args) {
    if (!PyArg_ParseTuple(args, "ii", &counterpoise::spoilt_station, &counterpoise::spoilt_lane)) return nullptr;
    Py_RETURN_NONE;
}

PyMethodDef station_methods[] = {
    {"stations", stations, METH_NOARGS, "Return (lanes of the set, place, poses at once) of every station."},
    {"spoil", spoil, METH_VARARGS, "Make a station wrong (index, -1: none) in a lane (-1: all)."},
    {nullptr, nullptr, 0, nullptr},
};
#endif

}  // namespace

#if defined(COUNTERPOISE_TEST_BUILD)
namespace counterpoise {
int spoilt_station = -1, spoilt_lane = -1;
int add_station(int set_lanes, const char* place, int lanes) {
    station_entries().push_back({set_lanes, place, lanes});
    return static_cast<int>(station_entries().size()) - 1;
}
}  // namespace counterpoise
#endif

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    chosen_table = available_tables().front();
    PyObject* module = PyModule_Create(&module_definition);
    if (module != nullptr && PyModule_AddStringConstant(module, "COMPILER", COUNTERPOISE_COMPILER) < 0) Py_CLEAR(module);
#if defined(COUNTERPOISE_TEST_BUILD)
    if (module != nullptr && PyModule_AddFunctions(module, station_methods) < 0) Py_CLEAR(module);
#endif
    return module;
}
