/**
 * A program that owns an Azurite, for the tests of what becomes of it. Once it has done what its argument says it prints
 * the process id of the Azurite.
 */
import { startAzurite } from "./azurite.ts";

const then = process.argv[2] as "serve" | "pause" | "stop";
const azurite = await startAzurite();
if (then === "pause") await azurite.pause();
if (then === "stop") await azurite.stop();
process.stdout.write(`${JSON.stringify({ pid: azurite.pid })}\n`);
