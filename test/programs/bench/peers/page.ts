import { markdownTable } from "@leasehold/test-kit/markdown-table";
import { median } from "../statistics.ts";
import { short } from "../table.ts";
import { CONTENDER_NAMES, contenderOf, type ContenderName } from "./contenders.ts";
import { LEASE_MS, type Measured, type Report } from "./measured.ts";
import { AWAY_S, cellOf, knownOf, ROWS, type Row } from "./rows.ts";

export const COMMAND = "LEASEHOLD_WRITE_DOCS=1 npm run bench -- peers";
/** A smaller difference is noise. */
const BETTER = 0.9;

interface Column {
  readonly name: ContenderName;
  readonly title: string;
  readonly report: Report;
}

/** Returns docs/benchmark.md in the form of the formatter. */
export function pageOf(measured: Measured): string {
  const columns = CONTENDER_NAMES.flatMap((name): Column[] => {
    const report = measured.contenders[name];
    return report === undefined ? [] : [{ name, title: contenderOf(name).title, report }];
  });
  const { date, machine, versions, tookS } = measured;
  const repeats = Math.min(...columns.map(({ report }) => report.crews.length));
  return `${[
    "# Beside other libraries",
    `Written by \`${COMMAND}\` on ${date}, in ${Math.round(tookS / 60)} minutes; not by hand.`,
    wrap(
      `Every library went through the same faults in the same run: a leader and a standby, each a process of its own behind a proxy of its own, a lease of ${LEASE_MS / 1_000} s for all (Azure has no shorter one), ${repeats} times. Every 5 ms each process asks its library whether it leads, in the way that answers most favourably; what it believes while it is frozen does not count, since it does nothing then. A task that blocks its event loop asks as well, before each of its steps.`,
    ),
    "![Time without a leader, and with two, by library](benchmark.svg)",
    "## All figures",
    "`median [worst]`; the best of each row is **bold**.",
    tableOf(columns),
    ...(columns.some(({ report }) => report.crowd.bare) ? [wrap(BARE)] : []),
    wrap(
      `Rows with a \`×\`, of leases and of shares are ratios, and hold on other machines too; the seconds of takeovers and overlaps come from leases and intervals of polling, and hardly depend on the machine. Milliseconds, CPU and memory are this machine's, with emulators on it. What had not come to pass after ${short(AWAY_S)} s (an outage: ${2 * (LEASE_MS / 1_000)} s) is "never".`,
    ),
    "## Where a peer is better",
    better(columns),
    "## What was asked of each library",
    BELIEFS,
    "## Where",
    [
      `- ${machine.processor}, ${machine.processors} processors, ${machine.memoryGb} GB, Node ${machine.node}; everything on loopback.`,
      `- Load average ${short(machine.load.before)} before, ${short(machine.load.after)} after the faults, of which this run's own ${2 * repeats * columns.length} processes are a part.`,
      ...(machine.load.before > machine.processors ? [wrap(BUSY, "  ")] : []),
      `- ${Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(", ")}.`,
    ].join("\n"),
  ].join("\n\n")}\n`;
}

const BUSY =
  "- **The machine had more to do than it could before this run began.** Takeovers came late for that, and what a thousand elections take, and whether they find the time, cannot be relied on: run it again on an idle machine.";

const BARE =
  "`the SDK alone` holds as many leases, and renews them as often, by the same requests of the service's SDK and nothing else: in a process of its own, right after ours.";

const BELIEFS = [
  "- **Leasehold**: `elector.isLeader`, a comparison with the clock. Defaults.",
  "- **dynamodb-lock-client**: a lock that has not emitted `error`, nor been released. Heartbeats three times in a lease; it asks again for ever.",
  "- **etcd3**: `elected`, until `error`, and a new campaign 5 s later, as its documentation has it. Of a campaign that has failed, `elected` is ignored, which its example does not do.",
  "- **redlock 4**: `lock.expiration` in the future. It is extended three times in a lease; else defaults.",
  "- **redlock 5**: the signal of `using`. Defaults; by hand it is like version 4.",
  "- Redis is one server without persistence. What a failover of it loses is not measured, and neither is fencing: of the peers, dynamodb-lock-client alone hands out a token.",
]
  .map((line) => wrap(line, "  "))
  .join("\n");

function tableOf(columns: readonly Column[]): string {
  const measured = ROWS.filter((row) => columns.some(({ report }) => row.samples(report).length > 0));
  const rows = measured.map((row) => {
    const best = Math.min(...columns.map(({ report }) => scoreOf(row, report)));
    return [
      row.measure,
      row.unit,
      ...columns.map(({ report }) => {
        const cell = cellOf(row, report);
        return scoreOf(row, report) === best ? `**${cell}**` : cell;
      }),
    ];
  });
  return markdownTable(["", "unit", ...columns.map(({ title }) => title)], rows);
}

/** Returns a score. Less is better. The worst score is for a result that did not happen or was not measured. */
function scoreOf(row: Row, report: Report): number {
  const known = knownOf(row, report);
  return known.length === 0 || known.length < row.samples(report).length ? Number.POSITIVE_INFINITY : median(known);
}

/** Returns whether one is better than the other by more than noise. */
function isAhead(row: Row, one: Report, other: Report): boolean {
  const theirs = scoreOf(row, other);
  return scoreOf(row, one) < BETTER * theirs && !(row.isByChance && Math.max(...knownOf(row, one)) >= theirs);
}

/**
 * Returns every figure in which some peer is ahead of all of Leasehold's results. Also returns those in which the peer on the
 * same service is ahead.
 */
function better(columns: readonly Column[]): string {
  const ours = columns.filter(({ name }) => name.startsWith("leasehold-"));
  const peers = columns.filter((column) => !ours.includes(column));
  const lines = ROWS.flatMap((row) => {
    const ahead = peers.flatMap(({ name, title, report }) => {
      const { service } = contenderOf(name);
      const rivals = ours.filter((each) => contenderOf(each.name).service === service);
      const compared = rivals.length > 0 ? rivals : ours;
      if (!compared.every((each) => isAhead(row, report, each.report))) return [];
      const best = compared.toSorted((one, other) => scoreOf(row, one.report) - scoreOf(row, other.report))[0]!;
      return [`${title} ${cellOf(row, report)}, ${best.title} ${cellOf(row, best.report)}`];
    });
    return ahead.length === 0 ? [] : [wrap(`- ${row.measure} (${row.unit}): ${ahead.join("; ")}.`, "  ")];
  });
  return [
    wrap(
      "By more than a tenth of the median (for the time after a crash, which depends on the phase of the renewals, with its worst ahead of our median); beside Leasehold on the same service, or on the best of its services where Leasehold has none of that kind:",
    ),
    lines.join("\n"),
  ].join("\n\n");
}

/** Wraps a text at a readable length. */
function wrap(text: string, indent = ""): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    // A line that begins with such a word would become a list item.
    const isNumber = /^\d+[.)]$/.test(word);
    if (line !== undefined && (isNumber || line.length + 1 + word.length <= 120)) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(lines.length === 0 ? word : `${indent}${word}`);
  }
  return lines.join("\n");
}
