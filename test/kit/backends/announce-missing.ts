import { terminalMissing } from "../processes/terminal.ts";
import { opensslMissing } from "./certificates.ts";
import { etcdMissing } from "./etcd.ts";
import { mariaDbMissing } from "./mariadb.ts";
import { motoMissing } from "./moto.ts";
import { postgresMissing } from "./postgres.ts";
import { CHROMIUM, CURL, FISH, GO, HAPROXY, programMissing, PROMTOOL, SYSTEMD, ZSH } from "./programs.ts";
import { redisMissing } from "./redis.ts";

/** The duration of a whole run on two cores, in minutes. */
const MINUTES = { short: 4, long: 10 };

/** Before a whole run, prints how long it takes, and which backends the machine lacks, so that their tests are skipped. */
export async function setup(): Promise<void> {
  const args = process.argv.slice(2);
  const isLong = args.includes("long");
  if (!args.every((arg) => arg.startsWith("-") || arg === "run" || arg === "long")) return;
  const reasons = await Promise.all([
    etcdMissing(),
    mariaDbMissing(),
    motoMissing(),
    opensslMissing(),
    postgresMissing(),
    redisMissing(),
    terminalMissing(),
    ...[CHROMIUM, CURL, FISH, GO, HAPROXY, PROMTOOL, SYSTEMD, ZSH].map(async (program) => programMissing(program)),
  ]);
  const missing = reasons.filter((reason) => reason !== undefined);
  process.stdout.write(
    `About ${isLong ? MINUTES.long : MINUTES.short} minutes on two cores. ${missing.length === 0 ? "No test is skipped." : "Tests are skipped, because:"}\n`,
  );
  for (const reason of missing) process.stdout.write(`  ${reason}\n`);
}
