import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { CHART_LOOK, FAINT, INK } from "../chart-look.ts";
import { isEvent } from "./demo-event.ts";
import { formatMs, type Evidence } from "./expectations.ts";
import { inOrder, stretchesOf, type Stretch } from "./timeline.ts";

const WIDTH = 1_000;
const LANE_HEIGHT = 78;
/** The vertical positions in a lane, in lanes from its middle. Down is positive. */
const BAR = 0.2;
const MEASURE = -0.36;
const MARK = 0.3;
const SECOND_MARK = 0.46;

const ALARM = "#c92a2a";
const STANDBY_COLOUR = "#d8e0e8";
const FROZEN_COLOUR = "#a3adb8";
/** The colours of the terms, in turn. */
const TERM_COLOURS = ["#1971c2", "#e8590c", "#862e9c", "#2b8a3e"];
/** Words are drawn twice. The first drawing is a halo, which keeps them legible over a line. */
const HALO_FIRST = [{ stroke: "white", strokeWidth: 4 }, {}];
/** `align`: text is placed where other marks are unlikely. */
const MARKS = {
  killed: { text: "SIGKILL", align: "left", y: MARK, shape: "triangle-up", colour: ALARM },
  terminated: { text: "SIGTERM", align: "right", y: MARK, shape: "triangle-up", colour: ALARM },
  paused: { text: "SIGSTOP", align: "left", y: MARK, shape: "triangle-up", colour: ALARM },
  resumed: { text: "SIGCONT", align: "right", y: MARK, shape: "triangle-up", colour: ALARM },
  "cut-off": { text: "cut off", align: "left", y: MARK, shape: "triangle-up", colour: ALARM },
  rejoined: { text: "connected again", align: "left", y: MARK, shape: "triangle-up", colour: INK },
  "fenced-write-refused": { text: "late write refused", align: "right", y: SECOND_MARK, shape: "diamond", colour: INK },
} as const;

/** Draws the timeline as an SVG: a lane for each worker. A bar shows a state, a mark an event. */
export async function pictureOf(cast: string, evidence: Evidence, endsAt: number): Promise<string> {
  const { spec } = compile(specOf(cast, { ...evidence, events: inOrder(evidence.events) }, endsAt));
  return await new View(parse(spec), { renderer: "none" }).toSVG();
}

function specOf(cast: string, evidence: Evidence, endsAt: number): TopLevelSpec {
  const { events, takeovers, timing, store } = evidence;
  const stretches = stretchesOf(events, endsAt);
  const lanes = [...new Set(events.filter((event) => isEvent(event, "spawned")).map(({ candidate }) => candidate ?? ""))];
  const terms = [...new Set(stretches.flatMap(({ term }) => (term === null ? [] : [term])))];
  const lane = (candidate: string | null): number => lanes.indexOf(candidate ?? "");
  const x = (at: number): number => at / 1_000;
  const span = Math.max(x(endsAt), 1);

  const bars = stretches.map(({ worker, state, term, from, to }) => {
    const { what, label } = nameOf(state, term);
    return { what, label, ink: state === "leading" ? "white" : INK, from: x(from), to: x(to), y: lane(worker) };
  });
  const renewals = events
    .filter((event) => isEvent(event, "renewed"))
    .map(({ at, candidate }) => ({ x: x(at), y: lane(candidate) }));
  const measures = takeovers.map(({ from, at, ms, leases, since }) => ({
    from: x(at - ms),
    to: x(at),
    middle: x(at - ms / 2),
    y: lane(from) + MEASURE,
    text: `${formatMs(ms)} = ${leases.toFixed(2)} leases after the ${since === "renewal" ? "last renewal" : "release"}`,
  }));
  const handovers = takeovers.map(({ from, to, at }) => ({ x: x(at), from: lane(from) + MEASURE, to: lane(to) }));
  const marks = events
    .filter((event) => isEvent(event, "killed", "terminated", "paused", "resumed", "cut-off", "rejoined", "fenced-write-refused"))
    .map(({ event, at, candidate }) => {
      const { text, y, shape, colour, align } = MARKS[event];
      return { text, x: x(at), y: lane(candidate) + y, shape, colour, align };
    });

  const kinds: Array<readonly [what: string, colour: string]> = [
    ["standing by", STANDBY_COLOUR],
    ["frozen", FROZEN_COLOUR],
    ...terms.map((term, index) => [`leading, term ${named(term)}`, TERM_COLOURS[index % TERM_COLOURS.length] ?? INK] as const),
  ];
  const shown = kinds.filter(([what]) => bars.some((bar) => bar.what === what));
  const whats = shown.map(([what]) => what);
  const colours = shown.map(([, colour]) => colour);
  const xOf = (field: string): object => ({ field, type: "quantitative" });
  const yOf = (field: string): object => ({ field, type: "quantitative" });
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title: {
      text: "One election, one leader at a time",
      subtitle: [
        `${capitalized(cast)}, a lease of ${timing.leaseDurationMs / 1_000} s on ${store}. White lines are renewals.`,
        "Each measure runs from the old leader's last renewal, or its release, to the start of the next leader.",
      ],
    },
    width: WIDTH,
    height: Math.max(lanes.length, 1) * LANE_HEIGHT,
    padding: 20,
    background: "white",
    encoding: {
      x: {
        type: "quantitative",
        scale: { domain: [0, span], nice: false },
        axis: { title: "seconds", grid: true, tickCount: 12 },
      },
      y: {
        type: "quantitative",
        scale: { domain: [-0.6, lanes.length - 0.4], reverse: true, nice: false, zero: false },
        axis: {
          title: null,
          values: lanes.map((_, index) => index),
          labelExpr: `${JSON.stringify(lanes)}[datum.value]`,
          grid: false,
        },
      },
    },
    layer: [
      {
        data: { values: bars.map((bar) => ({ ...bar, top: bar.y - BAR, bottom: bar.y + BAR })) },
        mark: { type: "rect", cornerRadius: 2 },
        encoding: {
          x: xOf("from"),
          x2: { field: "to" },
          y: yOf("top"),
          y2: { field: "bottom" },
          color: {
            field: "what",
            type: "nominal",
            scale: { domain: whats, range: colours },
            legend: { title: null, orient: "bottom", direction: "horizontal", columns: whats.length },
          },
        },
      },
      {
        data: { values: renewals.map((renewal) => ({ ...renewal, top: renewal.y - BAR, bottom: renewal.y + BAR })) },
        mark: { type: "rule", color: "white", strokeWidth: 1.5, opacity: 0.7 },
        encoding: { x: xOf("x"), y: yOf("top"), y2: { field: "bottom" } },
      },
      {
        data: { values: bars.filter(({ label }) => label !== "") },
        mark: { type: "text", align: "left", dx: 7, fontSize: 12, fontWeight: "bold" },
        encoding: {
          x: xOf("from"),
          y: yOf("y"),
          text: { field: "label" },
          color: { field: "ink", type: "nominal", scale: null },
        },
      },
      {
        data: { values: handovers },
        mark: { type: "rule", color: FAINT, strokeDash: [3, 3] },
        encoding: { x: xOf("x"), y: yOf("from"), y2: { field: "to" } },
      },
      {
        data: { values: measures },
        mark: { type: "rule", color: INK },
        encoding: { x: xOf("from"), x2: { field: "to" }, y: yOf("y") },
      },
      {
        data: {
          values: measures.flatMap(({ from, to, y }) => [
            { x: from, y },
            { x: to, y },
          ]),
        },
        mark: { type: "tick", orient: "vertical", color: INK, thickness: 1.5, size: 9 },
        encoding: { x: xOf("x"), y: yOf("y") },
      },
      ...HALO_FIRST.map((halo) => ({
        data: { values: measures },
        mark: { type: "text" as const, dy: -9, fontSize: 11.5, color: INK, ...halo },
        encoding: { x: xOf("middle"), y: yOf("y"), text: { field: "text" } },
      })),
      {
        data: { values: marks },
        mark: { type: "point", filled: true, size: 70, opacity: 1 },
        encoding: {
          x: xOf("x"),
          y: yOf("y"),
          shape: { field: "shape", type: "nominal", scale: null },
          color: { field: "colour", type: "nominal", scale: null },
        },
      },
      ...HALO_FIRST.flatMap((halo) =>
        (["left", "right"] as const).map((align) => ({
          data: { values: marks.filter((mark) => mark.align === align) },
          mark: {
            type: "text" as const,
            align,
            dx: align === "left" ? 8 : -8,
            dy: 1,
            fontSize: 11.5,
            ...halo,
          },
          encoding: {
            x: xOf("x"),
            y: yOf("y"),
            text: { field: "text" },
            color: { field: "colour", type: "nominal" as const, scale: null },
          },
        })),
      ),
    ],
    config: { ...CHART_LOOK, legend: { ...CHART_LOOK.legend, symbolType: "square" } },
  };
}

/** Returns the name of a state for the legend, and the text in its bar. */
function nameOf(state: Stretch["state"], term: number | null): { readonly what: string; readonly label: string } {
  switch (state) {
    case "leading":
      return { what: `leading, term ${named(term)}`, label: `term ${named(term)}` };
    case "frozen":
      return { what: "frozen", label: "frozen" };
    case "standby":
      return { what: "standing by", label: "" };
  }
}

/** Shortens a term that a clock has given to the digits in which it differs from the others. */
function named(term: number | null): string {
  return term !== null && term >= 1_000_000 ? `…${String(term).slice(-3)}` : String(term);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
