import { Client } from "pg";
import { describe, onTestFinished } from "vitest";
import { describeDatabase } from "./daemon-checks.ts";
import type { Session } from "./daemon-checks.ts";
import { isMissing } from "../backends/missing-backend.ts";
import { postgresMissing, startPostgres } from "../backends/postgres.ts";
import type { Postgres } from "../backends/postgres.ts";
import { describeProcesses } from "./process-checks.ts";

describe.skipIf(await isMissing(postgresMissing()))("PostgreSQL", () => {
  describeDatabase(startPostgres, connect);
  describeProcesses("postgres");
});

async function connect({ url }: Postgres): Promise<Session> {
  const client = new Client(url);
  // A connection that breaks is also reported here.
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => void client.end().catch(() => {}));
  return {
    query: async (sql) => {
      const { rows } = await client.query<unknown[]>({ text: sql, rowMode: "array" });
      return rows[0]?.[0];
    },
  };
}
