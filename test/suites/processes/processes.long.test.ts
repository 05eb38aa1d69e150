/**
 * Real processes, real signals, real time, and a real Azurite. Nearly all of a test is waiting for a lease to run out, so
 * all of them run at once: this is one file because files may run one after another.
 */
// Those that take longest come first.
import "./frozen.ts";
import "./stubborn-task.ts";
import "./outage.ts";
import "./azure.ts";
import "./cut-off.ts";
import "./killed.ts";
import "./exits.ts";
