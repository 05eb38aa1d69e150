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

/** Returns site/pages/benchmark.md in the form of the formatter. */
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
      `Every library went through the same faults: a leader and a standby, each a process behind a proxy of its own, ${repeats} times. The lease is ${LEASE_MS / 1_000} s, because Azure has no shorter one. Every 5 ms each process asks its library whether it leads, in the way that answers most favourably. A frozen process is not counted, because it does nothing. A task that blocks its event loop asks before each of its steps.`,
    ),
    "![Time without a leader, and with two, by library](benchmark.svg)",
    "## All figures",
    "`median [worst]`; the best of each row is **bold**.",
    tableOf(columns),
    wrap(
      `Ratios (\`×\`, leases, shares) hold on other machines too. Seconds come from leases and intervals of polling. "Never" means not within ${short(AWAY_S)} s, or ${2 * (LEASE_MS / 1_000)} s for an outage.`,
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

const BUSY = "- **The machine was busy before this run began.** Takeovers came late for that.";

const BELIEFS = [
  "- **Leasehold**: `elector.isLeader`. Defaults.",
  "- **dynamodb-lock-client**: a lock that has not emitted `error`, nor been released. Heartbeats three times in a lease; it asks again for ever.",
  "- **etcd3**: `elected`, until `error`, and a new campaign 5 s later, as its documentation has it. `elected` of a campaign that has failed is ignored.",
  "- **redlock 4**: `lock.expiration` in the future. It is extended three times in a lease.",
  "- **redlock 5**: the signal of `using`. By hand it is like version 4.",
  "- Redis is one server without persistence. Failovers of it and fencing are not measured. Of the peers, only dynamodb-lock-client has a token.",
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
      return [`${title} ${cellOf(row, report)} (${cellOf(row, best.report)})`];
    });
    return ahead.length === 0 ? [] : [wrap(`- ${row.measure} (${row.unit}): ${ahead.join("; ")}.`, "  ")];
  });
  return [
    wrap(
      "By more than a tenth of the median. In parentheses is the figure of Leasehold on the same service, or on the best one. For the time after a crash, the peer's worst is also ahead of our median.",
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
