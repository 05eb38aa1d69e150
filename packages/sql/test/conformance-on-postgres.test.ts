import { postgresMissing } from "@leasehold/test-kit/backends/postgres";
import { startPostgresPlaces } from "./postgres-place.ts";
import { runOnServer } from "./sql-place.ts";

await runOnServer("postgres", postgresMissing(), { start: () => startPostgresPlaces() });
