/** Every case, for each driver of PostgreSQL. */
import { postgresMissing } from "@leasehold/test-kit/backends/postgres";
import { startPostgresPlaces } from "../postgres-place.ts";
import { runOnServer } from "../run-on-server.ts";
import { NEON_HTTP, NEON_WEBSOCKET, POSTGRES_JS } from "./postgres-drivers.ts";

const DESCRIBES =
  "postgres.js asks for the parameters' types before it sends a statement, so only that question is late, and only its answer is lost";

await runOnServer(`postgres (${POSTGRES_JS.name})`, postgresMissing(), {
  start: () => startPostgresPlaces(POSTGRES_JS),
  skips: Object.fromEntries(
    ["late-acquire-given-up", "lost-acquire-reply", "lost-release-reply", "lost-publication", "leading-lost-reply"].map((id) => [
      id,
      DESCRIBES,
    ]),
  ),
});

await runOnServer(`postgres (${NEON_HTTP.name})`, postgresMissing(), {
  start: () => startPostgresPlaces(NEON_HTTP),
  lacks: { watch: "HTTP has no notifications" },
});

// It is a pool of `pg` on another kind of socket, so `npm run drivers` is enough.
if (process.env["LEASEHOLD_DRIVERS"] !== undefined)
  await runOnServer(`postgres (${NEON_WEBSOCKET.name})`, postgresMissing(), { start: () => startPostgresPlaces(NEON_WEBSOCKET) });
