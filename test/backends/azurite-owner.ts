/**
 * A program that owns an Azurite, for the tests of what becomes of it. Once it has done what its argument says it prints
 * the process id of the Azurite.
 */
import { startAzurite } from "./azurite.ts";
import { ownBackend } from "./own-backend.ts";
import type { Then } from "./own-backend.ts";

await ownBackend(startAzurite, process.argv[2] as Then);
