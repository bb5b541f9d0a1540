"""What the tests share: robots, recordings, arms and faults whose truth is known, other programs as oracles, pages.

A helper of one test file lives in that file. Each module here says how its truth is made.

Robots: random_robots (any tree, payloads, plates under it), random_mjcf (MuJoCo models with every compiler setting).

Oracles: twin (what an oracle computes, and the comparison), twin_pinocchio, twin_mujoco, native_builds (the native
kernels of every instruction set, and builds of them for the tests).

Recordings: analytic_log (by formula, with a plate), simulated_motion and calibration_data (motions and poses for
calibrations), doctor_cases (wrong models and faults), plate_recordings and made_plate_logs (plates), payload_data
(streams with a load), shared_data (recordings and descriptions that others published).

Files: bag_writers (bags by the libraries of others), costly_files (small files that cost much).

Arms behind the plant protocol: ideal_arm, two_link_arm, braked_arm, floating_arms, position_servo, wrist_stand_in.

Faults: faults (between a plant and its controller), fault_cases (the matrix of them, with the end specified for each).

Documentation: docs_pages (what stands in the pages), docs_material (the files that they take for granted),
printed_numbers (compares what is printed by its meaning), browser (a real browser on a page), study_module (scripts of
studies/ as modules).
"""
