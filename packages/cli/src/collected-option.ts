import { Option } from "commander";

/** Returns an option that may be given several times. Its value is a list. Any other option with a value may be given once. */
export function collectedOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(collect);
}

/** Reports whether an option was made by {@link collectedOption}. */
export function isCollected({ parseArg }: Option): boolean {
  return parseArg === collect;
}

function collect(value: string, others: unknown): readonly string[] {
  return [...((others as readonly string[] | undefined) ?? []), value];
}
