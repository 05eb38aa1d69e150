/**
 * A program that owns an Azurite, for the tests of what becomes of it. Once it has done what its argument says it prints
 * the process id of the Azurite.
 */
import { startAzurite } from "../backends/azurite.ts";
import { ownBackend } from "../backends/own-backend.ts";
import type { Then } from "../backends/own-backend.ts";

await ownBackend(startAzurite, process.argv[2] as Then);
