import { ACTIONS, CANDIDATES, DEFAULT_SETTINGS, STEP_MS, type Action, type Settings } from "./world.ts";

/** The longest history that a link repeats. */
const LONGEST_MS = 600_000;

/** One click of the reader. */
export interface Click {
  readonly atMs: number;
  readonly action: Action;
  /** The candidate. */
  readonly index: number;
}

/** The situation that a link repeats. */
export interface Situation {
  readonly settings: Settings;
  readonly clicks: readonly Click[];
}

/** Returns the part of an address after `#`, with the `#`. */
export function linkOf({ settings, clicks }: Situation): string {
  const { leaseDurationMs, renewIntervalMs, retryPeriodMs } = settings;
  const texts = clicks.map(({ atMs, action, index }) => `${atMs}:${action}:${index}`);
  return `#l=${leaseDurationMs}&r=${renewIntervalMs}&p=${retryPeriodMs}${texts.length > 0 ? `&c=${texts.join(",")}` : ""}`;
}

/** Reads what {@link linkOf} has made. Any other text is the usual situation. */
export function readLink(link: string): Situation {
  const usual: Situation = { settings: DEFAULT_SETTINGS, clicks: [] };
  const parts = new URLSearchParams(link.replace(/^#/, ""));
  const number = (key: string): number => (/^\d{1,7}$/.test(parts.get(key) ?? "") ? Number(parts.get(key)) : Number.NaN);
  const settings = { leaseDurationMs: number("l"), renewIntervalMs: number("r"), retryPeriodMs: number("p") };
  if (Object.values(settings).some(Number.isNaN)) return usual;
  const clicks: Click[] = [];
  for (const text of parts.get("c")?.split(",") ?? []) {
    const [atMs, action, index] = text.split(":");
    const click = { atMs: Number(atMs), action: action as Action, index: Number(index) };
    const isKnown =
      ACTIONS.includes(click.action) && Number.isInteger(click.index) && click.index >= 0 && click.index < CANDIDATES;
    const isTimely = click.atMs >= (clicks.at(-1)?.atMs ?? 0) && click.atMs <= LONGEST_MS && click.atMs % STEP_MS === 0;
    if (!isKnown || !isTimely) return usual;
    clicks.push(click);
  }
  return { settings, clicks };
}
