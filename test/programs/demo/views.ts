import { styleText } from "node:util";
import { isEvent, type DemoEvent } from "./demo-event.ts";
import { Narrator, seconds, type Line } from "./narration.ts";
import { summaryText } from "./summary.ts";

export type Style = "bold" | "dim" | "red" | "green" | "cyan" | "yellow" | "magenta" | "blue";

const TONES: Record<Exclude<Line["tone"], "plain" | "leader">, Style> = { faint: "dim", trouble: "red", relief: "green" };
/** The colours of the terms, in turn. */
const TERMS: readonly Style[] = ["cyan", "yellow", "magenta", "blue"];

/** Returns a function that prints each event as one line of JSON. */
export function jsonLines(): (event: DemoEvent) => void {
  return (event) => void process.stdout.write(`${JSON.stringify(event)}\n`);
}

/** Returns a function that prints the events for people: a title for each act, and one line for each event. */
export function story(): (event: DemoEvent) => void {
  const narrator = new Narrator();
  let acts = 0;
  return (event) => {
    const line = narrator.tell(event);
    const print = (text: string): void => void process.stdout.write(`${text}\n`);
    if (isEvent(event, "demo")) {
      print(paint("bold", `Leasehold demo: ${event.cast}, one election, at most one leader.`));
      print(`A lease of ${event.leaseDurationMs / 1_000} s on ${event.store} (${event.place}).`);
    } else if (isEvent(event, "phase")) {
      acts += 1;
      print(`\n${paint("bold", `${acts}. ${event.title}.`)} ${event.explanation}`);
    } else if (isEvent(event, "summary")) {
      print(summaryText(event, paint));
    } else if (line) {
      const who = event.candidate ?? "";
      const quote = line.quote === undefined ? "" : `\n${" ".repeat(21)}${paint("dim", line.quote)}`;
      const time = paint("dim", seconds(event.at).padStart(7));
      print(`${time}  ${paint("bold", who.padEnd(9))} ${painted(line, event.term)}${quote}`);
    }
  };
}

/** Formats text for standard output: only on a terminal, and not if `NO_COLOR` is set. */
function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

function painted({ text, tone }: Line, term: number | null): string {
  if (tone === "plain") return text;
  return paint(tone === "leader" ? TERMS[((term ?? 1) - 1) % TERMS.length]! : TONES[tone], text);
}
