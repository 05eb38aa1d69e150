/**
 * A program that owns the backend that its first argument names, for the tests of what becomes of it. Once it has done
 * what its second argument says it prints the process id of the backend.
 */
import { startDynalite } from "../backends/dynalite.ts";
import { startMariaDb } from "../backends/mariadb.ts";
import { startMoto } from "../backends/moto.ts";
import { ownBackend } from "../backends/own-backend.ts";
import type { Then } from "../backends/own-backend.ts";
import { startPostgres } from "../backends/postgres.ts";

const starts = { dynalite: startDynalite, mariadb: startMariaDb, moto: startMoto, postgres: startPostgres };

/** The backends that this program can own. */
export type OwnedBackend = keyof typeof starts;

await ownBackend(starts[process.argv[2] as OwnedBackend], process.argv[3] as Then);
