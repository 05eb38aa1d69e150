import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Daemon } from "../backends/daemon.ts";
import { processState } from "../processes/process-state.ts";
import { childrenOf } from "../processes/process-tree.ts";

/** A session with a database. */
export interface Session {
  /** Runs a statement, and gives the first column of its first row. */
  query(sql: string): Promise<unknown>;
}

/**
 * Declares the tests that a database answers, also after a pause, and that nothing of it is left when it has stopped.
 * @param connect - opens a session with the database that `start` has started; the test's end closes it
 */
export function describeDatabase<Database extends Daemon>(
  start: () => Promise<Database>,
  connect: (database: Database) => Promise<Session>,
): void {
  describe("its database", () => {
    test("answers, and keeps what it is told", async () => {
      await using database = await start();
      const session = await connect(database);
      await session.query("CREATE TABLE counters (n INT)");
      await session.query("INSERT INTO counters VALUES (0)");

      const others = await Promise.all(Array.from({ length: 10 }, async () => connect(database)));
      await Promise.all(others.map(async (other) => other.query("UPDATE counters SET n = n + 1")));

      expect(Number(await session.query("SELECT n FROM counters"))).toBe(10);
    });

    test("answers nobody while it is paused, and then everybody", async () => {
      await using database = await start();
      const session = await connect(database);
      const pids = [database.pid, ...(await childrenOf([database.pid]))];

      await database.pause();
      for (const pid of pids) await expect(processState(pid)).resolves.toBe("stopped");
      let answered = 0;
      const onNewConnection = connect(database).then(async (other) => other.query("SELECT 1"));
      const answers = [session.query("SELECT 1"), onNewConnection].map(async (answer) => {
        await answer;
        answered++;
      });
      // Long enough for a hundred answers of one that runs.
      await delay(200);
      expect(answered).toBe(0);

      database.resume();
      await Promise.all(answers);
    });

    test("is gone with all its processes when stop resolves, even if it was paused", async () => {
      const database = await start();
      const session = await connect(database);
      const pids = [database.pid, ...(await childrenOf([database.pid]))];
      await database.pause();
      const unanswered = session.query("SELECT 1");

      const [outcome] = await Promise.allSettled([unanswered, database.stop()]);

      for (const pid of pids) await expect(processState(pid)).resolves.toBe("gone");
      expect(outcome.status).toBe("rejected");
      await database.stop();
      await expect(database.pause()).rejects.toThrow("has ended");
      database.resume();
    });
  });
}
