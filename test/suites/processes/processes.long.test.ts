/**
 * Real processes, real signals, real time, and a real Azurite. Most of a test is the wait for a lease to expire, so all of them
 * run at once. They are in one file, because files may run one after another.
 */
// The longest tests come first.
import "./frozen.ts";
import "./stubborn-task.ts";
import "./outage.ts";
import "./azure.ts";
import "./cut-off.ts";
import "./killed.ts";
import "./exits.ts";
