// The native steppers as Python types. Each holds buffers that its maker shares with it (MuJoCo's own arrays among them)
// and works on them in place, so that a step costs one call without arguments. Only counterpoise/plants/kernel.py makes
// these objects; counterpoise/plants/reference.py is their specification.
#include <cmath>
#include <vector>

#include "arguments.hpp"
#include "plants/drive.hpp"
#include "plants/one_joint.hpp"

namespace counterpoise {
namespace {

template <class Fields>
constexpr Py_ssize_t WIDTH = sizeof(Fields) / sizeof(double);
constexpr double RUNAWAY = 1e6;  // [rad/s or m/s] beyond it the simulation has diverged

double lag_decay(const Drive& drive, double dt) { return drive.lag > 0.0 ? std::exp(-dt / drive.lag) : 0.0; }

// ---------------------------------------------------------------------------------------------------------- Drives

struct Drives {
    Buffer<double> states, torque;
    Buffer<const double> command, q, dq;
    std::vector<Drive> drives;
    std::vector<double> decays;
    double dt;

    bool take(PyObject* args) {
        PyObject *parameters, *states_, *command_, *q_, *dq_, *torque_;
        Buffer<const double> rows;
        if (!PyArg_ParseTuple(args, "OOOOOOd", &parameters, &states_, &command_, &q_, &dq_, &torque_, &dt) ||
            !rows.take(parameters, "parameters"))
            return false;
        // Counted by its bytes and not by its word.
        const Py_ssize_t n = rows.count() / WIDTH<Drive>;
        if (rows.count() != n * WIDTH<Drive>) return refuse("parameters has the wrong size") != nullptr;
        if (!states.take(states_, "states", n * WIDTH<DriveState>) || !command.take(command_, "command", n) ||
            !q.take(q_, "q", n) || !dq.take(dq_, "dq", n) || !torque.take(torque_, "torque", n))
            return false;
        drives.resize(static_cast<std::size_t>(n));
        if (n > 0) std::memcpy(drives.data(), rows.data(), drives.size() * sizeof(Drive));
        for (const Drive& drive : drives) decays.push_back(lag_decay(drive, dt));
        return true;
    }
    void step_into(DriveState& state, std::size_t i) {
        torque[i] = step_drive(drives[i], state, command[i], q[i], dq[i], decays[i], dt);
    }
    DriveState* state() { return reinterpret_cast<DriveState*>(states.data()); }
};

PyObject* drives_step(PyObject* object, PyObject*) {
    Drives& self = *value_of<Drives>(object);
    for (std::size_t i = 0; i < self.drives.size(); ++i)
        if (!(std::fabs(self.dq[i]) < RUNAWAY)) Py_RETURN_FALSE;  // true for NaN too
    for (std::size_t i = 0; i < self.drives.size(); ++i) self.step_into(self.state()[i], i);
    Py_RETURN_TRUE;
}

PyObject* drives_peek(PyObject* object, PyObject*) {
    Drives& self = *value_of<Drives>(object);
    for (std::size_t i = 0; i < self.drives.size(); ++i) {
        DriveState state = self.state()[i];
        self.step_into(state, i);
    }
    Py_RETURN_NONE;
}

PyMethodDef drives_methods[] = {
    {"step", drives_step, METH_NOARGS, "Write the torques on the links and move the drives on by one step."},
    {"peek", drives_peek, METH_NOARGS, "Write the torques on the links without moving the drives on."},
    {nullptr, nullptr, 0, nullptr},
};

// -------------------------------------------------------------------------------------------------------- OneJoint

struct OneJoint {
    Buffer<double> drive_state, link_state;
    Drive drive;
    Link link;
    double decay, dt;

    bool take(PyObject* args) {
        PyObject *drive_, *drive_state_, *link_, *link_state_;
        Buffer<const double> drive_row, link_row;
        if (!PyArg_ParseTuple(args, "OOOOd", &drive_, &drive_state_, &link_, &link_state_, &dt) ||
            !drive_row.take(drive_, "drive", WIDTH<Drive>) ||
            !drive_state.take(drive_state_, "drive_state", WIDTH<DriveState>) ||
            !link_row.take(link_, "link", WIDTH<Link>) ||
            !link_state.take(link_state_, "link_state", WIDTH<LinkState>))
            return false;
        std::memcpy(&drive, drive_row.data(), sizeof drive);
        std::memcpy(&link, link_row.data(), sizeof link);
        decay = lag_decay(drive, dt);
        return true;
    }
};

PyObject* one_joint_advance(PyObject* object, PyObject* args) {
    double command;
    int steps;
    if (!PyArg_ParseTuple(args, "di", &command, &steps)) return nullptr;
    OneJoint& self = *value_of<OneJoint>(object);
    auto& drive_state = *reinterpret_cast<DriveState*>(self.drive_state.data());
    auto& link_state = *reinterpret_cast<LinkState*>(self.link_state.data());
    for (int i = 0; i < steps && std::fabs(link_state.velocity) < RUNAWAY; ++i)
        step_link(self.drive, drive_state, self.link, link_state, command, self.decay, self.dt);
    return PyBool_FromLong(std::fabs(link_state.velocity) < RUNAWAY);
}

PyMethodDef one_joint_methods[] = {
    {"advance", one_joint_advance, METH_VARARGS, "Move on by a number of steps under one command."},
    {nullptr, nullptr, 0, nullptr},
};

// --------------------------------------------------------------------------------------------------------- LowPass

struct LowPass {
    Buffer<const double> input;
    Buffer<double> output, state;
    double coefficients[5];

    bool take(PyObject* args) {
        PyObject *coefficients_, *input_, *output_, *state_;
        Buffer<const double> row;
        if (!PyArg_ParseTuple(args, "OOOO", &coefficients_, &input_, &output_, &state_) ||
            !row.take(coefficients_, "coefficients", 5) || !input.take(input_, "input") ||
            !output.take(output_, "output", input.count()) || !state.take(state_, "state", 2 * input.count()))
            return false;
        std::memcpy(coefficients, row.data(), sizeof coefficients);
        return true;
    }
};

PyObject* low_pass_step(PyObject* object, PyObject*) {
    LowPass& self = *value_of<LowPass>(object);
    const double* c = self.coefficients;
    const Py_ssize_t channels = self.input.count();
    for (Py_ssize_t i = 0; i < channels; ++i)
        self.output[i] =
            filtered(self.input[i], c[0], c[1], c[2], c[3], c[4], self.state[i], self.state[channels + i]);
    Py_RETURN_NONE;
}

PyMethodDef low_pass_methods[] = {
    {"step", low_pass_step, METH_NOARGS, "Filter the present input into the output."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_plants(PyObject* part) {
    return add_names(part, "DRIVE_PARAMETERS", {DRIVE_PARAMETERS(COUNTERPOISE_NAME)}) &&
           add_names(part, "DRIVE_STATES", {DRIVE_STATES(COUNTERPOISE_NAME)}) &&
           add_names(part, "LINK_PARAMETERS", {LINK_PARAMETERS(COUNTERPOISE_NAME)}) &&
           add_names(part, "LINK_STATES", {LINK_STATES(COUNTERPOISE_NAME)}) &&
           add_numbers(part, "CONSTANTS", {{"RUNAWAY", RUNAWAY}}) &&
           add_boxed<Drives>(part, "Drives", "counterpoise._native.plants.Drives", drives_methods,
                             "Drives of n joints, stepped together.") &&
           add_boxed<OneJoint>(part, "OneJoint", "counterpoise._native.plants.OneJoint", one_joint_methods,
                               "One link on one drive on a plate.") &&
           add_boxed<LowPass>(part, "LowPass", "counterpoise._native.plants.LowPass", low_pass_methods,
                              "Second-order filter of several channels.");
}

}  // namespace counterpoise
