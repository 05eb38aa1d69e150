import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { CHART_LOOK } from "../../chart-look.ts";
import { CONTENDER_NAMES, contenderOf } from "./contenders.ts";
import { FAULTS, type Episode, type FaultName } from "./faults.ts";
import { LEASE_MS, type Measured } from "./measured.ts";
import { AWAY_S } from "./rows.ts";

const WIDTH = 430;
const ROW_HEIGHT = 54;

/** The data of one fault in a panel: a dot for each time that it was applied. */
interface Series {
  readonly fault: FaultName;
  readonly colour: string;
  readonly ms: (episode: Episode) => number | undefined;
}

const TAKEOVERS: readonly Series[] = [
  { fault: "stop", colour: "#1971c2", ms: ({ takeoverMs }) => takeoverMs },
  { fault: "crash", colour: "#c92a2a", ms: ({ takeoverMs }) => takeoverMs },
];
const OVERLAPS: readonly Series[] = (
  [
    ["freeze", "#1971c2"],
    ["block", "#e8590c"],
    ["cut", "#c92a2a"],
    ["outage", "#862e9c"],
  ] as const
).map(([fault, colour]) => ({ fault, colour, ms: ({ overlapMs }) => overlapMs }));

/** Draws takeovers and overlaps of every library, as an SVG. */
export async function pictureOf(measured: Measured): Promise<string> {
  const { spec } = compile(specOf(measured));
  return await new View(parse(spec), { renderer: "none" }).toSVG();
}

function specOf(measured: Measured): TopLevelSpec {
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title: {
      text: "The same faults, library by library",
      subtitle: [
        `A leader and a standby, processes of their own, a lease of ${LEASE_MS / 1_000} s; each dot is one fault. Further left is better, 0 best.`,
        "Two leaders: both processes run and believe that they lead, by the best answer that their library offers.",
      ],
    },
    padding: 20,
    background: "white",
    spacing: 36,
    hconcat: [
      panel(measured, TAKEOVERS, "seconds without a leader", true),
      panel(measured, OVERLAPS, "seconds with two leaders", false),
    ],
    resolve: { scale: { color: "independent", yOffset: "independent" } },
    config: CHART_LOOK,
  };
}

function panel({ contenders }: Measured, series: readonly Series[], title: string, hasNames: boolean) {
  const shown = CONTENDER_NAMES.filter((name) => contenders[name] !== undefined);
  const values = shown.flatMap((name) =>
    series.flatMap(({ fault, ms }) =>
      contenders[name]!.crews.map(({ episodes }) => {
        const inMs = ms(episodes[fault]);
        const s = inMs === undefined ? AWAY_S : inMs / 1_000;
        return { library: contenderOf(name).title, fault: FAULTS[fault].title, s, came: inMs !== undefined };
      }),
    ),
  );
  const faults = series.map(({ fault }) => FAULTS[fault].title as string);
  return {
    width: WIDTH,
    height: shown.length * ROW_HEIGHT,
    data: { values },
    mark: { type: "point" as const, filled: true, size: 55, opacity: 0.7 },
    encoding: {
      x: { field: "s", type: "quantitative" as const, scale: { domainMin: 0 }, axis: { title, grid: true } },
      y: {
        field: "library",
        type: "nominal" as const,
        sort: shown.map((name) => contenderOf(name).title),
        axis: hasNames
          ? { title: null, grid: true, tickBand: "extent" as const, labelLimit: 260, ticks: false }
          : { title: null, grid: true, tickBand: "extent" as const, labels: false, ticks: false },
      },
      yOffset: { field: "fault", type: "nominal" as const, sort: faults },
      color: {
        field: "fault",
        type: "nominal" as const,
        scale: { domain: faults, range: series.map(({ colour }) => colour) },
        legend: { title: null, orient: "bottom" as const, direction: "horizontal" as const, labelLimit: 0, columns: 2 },
      },
      // A triangle: it did not happen during the whole wait.
      shape: {
        field: "came",
        type: "nominal" as const,
        scale: { domain: [true, false], range: ["circle", "triangle-right"] },
        legend: null,
      },
    },
  };
}
