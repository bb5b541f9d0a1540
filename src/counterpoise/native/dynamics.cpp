// The kernels of kinematics and dynamics as a Python type: its creation, its documentation, and the choice of an instruction
// set. The specification is counterpoise/dynamics/reference.py.
#include "dynamics/construction.hpp"
#include "dynamics/methods.hpp"
#if defined(COUNTERPOISE_TEST_BUILD)
#include "dynamics/stations.hpp"
#endif

namespace counterpoise {
namespace {

PyObject* kernel_type = nullptr;

PyGetSetDef kernel_members[] = {{"tree", kernel_tree, nullptr, "The compiled tree.", nullptr},
                                {nullptr, nullptr, nullptr, nullptr, nullptr}};

// The methods with the docstrings of a reference class; null with a Python error set.
PyMethodDef* documented(PyObject* reference) {
    static std::string texts[METHOD_COUNT];
    PyMethodDef* methods = table_of_methods(std::make_integer_sequence<int, METHOD_COUNT>());
    for (int m = 0; m < METHOD_COUNT; ++m) {
        PyObject* function = PyObject_GetAttrString(reference, METHODS[m].name);
        PyObject* text = function == nullptr ? nullptr : PyObject_GetAttrString(function, "__doc__");
        const char* utf8 = text == nullptr ? nullptr : text == Py_None ? "" : PyUnicode_AsUTF8(text);
        if (utf8 != nullptr) texts[m] = std::string(METHODS[m].name) + METHODS[m].signature + "\n--\n\n" + utf8;
        methods[m].ml_doc = texts[m].c_str();
        Py_XDECREF(function);
        Py_XDECREF(text);
        if (utf8 == nullptr) return nullptr;
    }
    return methods;
}

bool import_helpers() {
    const struct {
        PyObject** where;
        const char *module, *name;
    } helpers[] = {
        {&as_rows, "counterpoise.dynamics.inputs", "as_rows"},
        {&refuse_bad_entries, "counterpoise.dynamics.inputs", "refuse_bad_entries"},
        {&check_out, "counterpoise.dynamics.inputs", "check_out"},
        {&link_index, "counterpoise.dynamics.inputs", "link_index"},
        {&refuse_wrench_shape, "counterpoise.dynamics.inputs", "refuse_wrench_shape"},
        {&wrench_components, "counterpoise.dynamics.reference", "WRENCH_COMPONENTS"},
        {&unphysical, "counterpoise.dynamics.reference", "unphysical"},
        {&input_error, "counterpoise.errors", "InputError"},
    };
    for (const auto& helper : helpers) {
        PyObject* module = PyImport_ImportModule(helper.module);
        *helper.where = module == nullptr ? nullptr : PyObject_GetAttrString(module, helper.name);
        Py_XDECREF(module);
        if (*helper.where == nullptr) return false;
    }
    float64 = PyArray_DescrFromType(NPY_DOUBLE);
    for (int place = 0; place < PLACE_COUNT; ++place)
        if ((names[place] = PyUnicode_InternFromString(NAMES[place])) == nullptr) return false;
    return true;
}

PyObject* make_kernel(PyObject*, PyObject* reference) {
    if (kernel_type == nullptr) {
        PyMethodDef* methods = import_helpers() ? documented(reference) : nullptr;
        PyObject* doc = methods == nullptr ? nullptr : PyObject_GetAttrString(reference, "__doc__");
        const char* text = doc == nullptr ? nullptr : doc == Py_None ? "" : PyUnicode_AsUTF8(doc);
        if (text != nullptr)
            kernel_type = make_type("counterpoise._native.dynamics.NativeKernel", sizeof(KernelObject),
                                    {slot(Py_tp_new, kernel_new), slot(Py_tp_dealloc, kernel_dealloc),
                                     slot(Py_tp_methods, methods), slot(Py_tp_getset, kernel_members),
                                     slot(Py_tp_doc, text), {0, nullptr}},
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE);
        Py_XDECREF(doc);
    }
    return Py_XNewRef(kernel_type);
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

PyMethodDef functions[] = {
    {"make_kernel", make_kernel, METH_O, "Return the kernel type, documented like the given reference kernel."},
    {"instruction_set", instruction_set, METH_NOARGS, "Return the name of the instruction set that new kernels use."},
    {"instruction_sets", instruction_sets, METH_NOARGS,
     "Return the instruction sets that this machine can use, best first, with their numbers of lanes."},
    {"use", use, METH_O, "Let kernels made from now on compute with an instruction set."},
    {"set_batch_threads", set_batch_threads, METH_O, "Set on how many threads large batches run (1 to 256)."},
    {nullptr, nullptr, 0, nullptr},
};

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
    if (!PyArg_ParseTuple(args, "ii", &spoilt_station, &spoilt_lane)) return nullptr;
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
int spoilt_station = -1, spoilt_lane = -1;
int add_station(int set_lanes, const char* place, int lanes) {
    station_entries().push_back({set_lanes, place, lanes});
    return static_cast<int>(station_entries().size()) - 1;
}
#endif

bool add_dynamics(PyObject* part) {
    import_array1(false);
    chosen_table = available_tables().front();
#if defined(COUNTERPOISE_TEST_BUILD)
    if (PyModule_AddFunctions(part, station_methods) != 0) return false;
#endif
    return PyModule_AddFunctions(part, functions) == 0 &&
           add_numbers(part, "Kind", {{"REVOLUTE", REVOLUTE}, {"PRISMATIC", PRISMATIC}}) &&
           add_numbers(part, "CONSTANTS", {{"MAX_INPUT", INPUT_BOUND}, {"FRAME_ROWS", FRAME_ROWS}});
}

}  // namespace counterpoise
