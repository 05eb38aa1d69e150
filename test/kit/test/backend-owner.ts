/**
 * A program that owns the backend that its first argument names, for the tests of what becomes of it. It stops it, pauses it
 * or leaves it be, as its second argument says, and prints its process id.
 */
import { startAzurite } from "../backends/azurite.ts";
import { startMoto } from "../backends/moto.ts";
import { startPostgres } from "../backends/postgres.ts";

const starts = { azurite: startAzurite, moto: startMoto, postgres: startPostgres };

/** The backends that this program can own. */
export type OwnedBackend = keyof typeof starts;

/** What it does with its backend, once that has started. */
export type Then = "serve" | "pause" | "stop";

const backend = await starts[process.argv[2] as OwnedBackend]();
const then = process.argv[3] as Then;
if (then === "pause") await backend.pause();
if (then === "stop") await backend.stop();
process.stdout.write(`${JSON.stringify({ pid: backend.pid })}\n`);
