import { postgresMissing } from "@leasehold/test-kit/backends/postgres";
import { startPostgresPlaces } from "./postgres-place.ts";
import { runOnServer } from "./run-on-server.ts";

await runOnServer("postgres", postgresMissing(), { start: () => startPostgresPlaces() });
