import type { TopLevelSpec } from "vega-lite";

export const INK = "#24292f";
export const FAINT = "#57606a";

/** How the charts of the programs look, for `config` of Vega-Lite. */
export const CHART_LOOK = {
  font: "Helvetica, Arial, sans-serif",
  view: { stroke: null },
  axis: {
    labelColor: INK,
    titleColor: FAINT,
    gridColor: "#eef1f4",
    domainColor: "#ccd3da",
    tickColor: "#ccd3da",
    labelFontSize: 12,
  },
  legend: { labelColor: INK, labelFontSize: 12 },
  title: { anchor: "start", fontSize: 17, color: INK, subtitleColor: FAINT, subtitleFontSize: 12, offset: 14 },
} as const satisfies TopLevelSpec["config"];
