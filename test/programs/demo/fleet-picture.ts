import { parse, View } from "vega";
import { compile } from "vega-lite";
import { CHART_LOOK, INK } from "../chart-look.ts";
import type { Scene, Stretch } from "./fleet-story.ts";

const COLOURS = ["#1971c2", "#e8590c", "#862e9c", "#2b8a3e", "#e0a800", "#0b7285"];

/** Draws who held which shard when, as an SVG: a row for each shard, and a line for each scene. */
export async function fleetPicture(stretches: readonly Stretch[], scenes: readonly Scene[], shards: number): Promise<string> {
  const x = (ms: number): number => ms / 1_000;
  const bars = stretches.map(({ from, to, ...bar }) => ({ ...bar, from: x(from), to: x(to) }));
  const marks = scenes.map(({ title, at }) => ({ title, x: x(at) }));
  const members = [...new Set(stretches.map(({ member }) => member))].toSorted();
  const { spec } = compile({
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title: { text: "A fleet: each shard has one holder at most", subtitle: "A gap is the time without a holder." },
    width: 1_000,
    height: shards * 20,
    padding: 20,
    background: "white",
    layer: [
      {
        data: { values: bars },
        mark: { type: "bar", height: 15, cornerRadius: 2 },
        encoding: {
          x: { field: "from", type: "quantitative", axis: { title: "seconds", grid: true } },
          x2: { field: "to" },
          y: { field: "shard", type: "ordinal", axis: { title: "shard" } },
          color: {
            field: "member",
            type: "nominal",
            scale: { domain: members, range: COLOURS },
            legend: { title: null, orient: "bottom" },
          },
        },
      },
      {
        data: { values: marks },
        mark: { type: "rule", color: INK, strokeDash: [3, 3] },
        encoding: { x: { field: "x", type: "quantitative" } },
      },
      {
        data: { values: marks },
        mark: { type: "text", align: "left", baseline: "bottom", dx: 3, dy: -3, fontSize: 11, color: INK },
        encoding: { x: { field: "x", type: "quantitative" }, y: { value: 0 }, text: { field: "title" } },
      },
    ],
    config: CHART_LOOK,
  });
  return await new View(parse(spec), { renderer: "none" }).toSVG();
}
