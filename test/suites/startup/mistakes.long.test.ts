/**
 * What a new user sees who has set something up wrongly: for each store and mistake what is said, and what `run` does. The
 * page that it makes is `docs/mistakes.md`, which has to be the same: LEASEHOLD_WRITE_DOCS=1 writes it.
 */
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { Elector, type LeaseholdError, type Logger } from "@leasehold/core";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { mariaDbMissing, startMariaDb } from "@leasehold/test-kit/backends/mariadb";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { postgresMissing, startPostgres } from "@leasehold/test-kit/backends/postgres";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { expect, test } from "vitest";
import { MISTAKES } from "./mistakes.ts";

/** Azure's shortest: for any store. */
const LEASE_MS = 15_000;
const PAGE = new URL("../../../docs/mistakes.md", import.meta.url);
const HEAD = `# Mistakes, and what is said of them

For each store, what is said at once when it is set up wrongly (to the logger, or else on stderr), and what \`run\` and
\`campaign\` do by default, on a lease of 15 s. With \`startup: "patient"\` nothing but a mistake of this process itself ends
them. A test makes these mistakes, and this page. Azurite and dynalite stand for their services, which say some of it in other
words: of a wrong key Azure itself says AuthenticationFailed, which is STORE_UNAUTHENTICATED.
`;

const missing = (await isMissing(mariaDbMissing())) || (await isMissing(postgresMissing()));

test.skipIf(missing)("every mistake is said at once, and none waits for ever without need", { timeout: 120_000 }, async () => {
  await using azurite = await startAzurite();
  await using dynalite = await startDynalite();
  await using mysql = await startMariaDb();
  await using postgres = await startPostgres();
  const services = { azurite: azurite.url, dynalite: dynalite.url, mysql: mysql.url, postgres: postgres.url };

  const sections = await Promise.all(
    Object.entries(MISTAKES).map(async ([title, mistakes]) => {
      const told = await Promise.all(Object.entries(mistakes).map(async ([mistake, make]) => tell(mistake, make(services))));
      return `\n## ${title}\n\n\`\`\`text\n${told.join("\n")}\n\`\`\`\n`;
    }),
  );

  const page = HEAD + sections.join("");
  if (process.env["LEASEHOLD_WRITE_DOCS"] !== undefined) await writeFile(PAGE, page);
  expect(page).toBe(await readFile(PAGE, "utf8"));
});

async function tell(mistake: string, store: ReturnType<(typeof MISTAKES)[string][string]>): Promise<string> {
  const said: string[] = [];
  const keep = (message: string): void => void said.push(message);
  const logger: Logger = { debug: () => undefined, info: keep, warn: keep, error: keep };
  const elector = new Elector({ store, election: "nightly-billing", leaseDurationMs: LEASE_MS, logger });
  const beganMs = performance.now();
  const failed = elector.run(untilAborted).then(
    () => undefined,
    (error: unknown) => ({ error: error as LeaseholdError, afterMs: performance.now() - beganMs }),
  );
  const outcome = await Promise.race([failed, delay(2 * LEASE_MS, undefined)]);
  await elector.stop();
  const does = outcome === undefined ? "goes on" : outcome.afterMs < LEASE_MS / 2 ? "rejects at once" : "rejects after a lease";
  const line = outcome?.afterMs !== undefined && outcome.afterMs < LEASE_MS / 2 ? outcome.error.message : said[0];
  return [`${mistake}: run ${does}${outcome ? ` with ${outcome.error.code}` : ""}`, `    ${steady(line ?? "(nothing)")}`].join(
    "\n",
  );
}

/** Leaves out what differs from run to run. */
function steady(line: string): string {
  return line
    .replace(/ \[request [^\]]*\]/, "")
    .replace(/EAI_AGAIN/, "ENOTFOUND")
    .replace(/in \d+ s\.$/, "in 15 s.");
}
