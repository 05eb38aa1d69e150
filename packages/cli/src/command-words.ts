/** Words of the library in messages, with the words of this command for them. The first rule that fits a place counts. */
const RULES: ReadonlyArray<readonly [library: RegExp, command: string]> = [
  [
    /\bThe task leading ('.*') \(term (\d+)\) is still pending (\d+ ms) after its signal aborted: a successor may lead beside it\. .*\.signal\./g,
    "The command of $1 (term $2) is still there $3 after it was asked to end: a successor may run beside it.",
  ],
  [/\bby store\.repair\(\), or by the elector's option/g, "by leasehold repair"],
  [/\bstore\.(\w+)\('([^']*)'\)/g, "leasehold $1 '$2'"],
  [/\bstore\.(\w+)\(\)/g, "leasehold $1"],
  [/\b[Cc]all migrate\(\) once, or run the statements of store\.migration yourself/g, "Run leasehold migrate once"],
  [/; or have somebody run the statements of store\.migration/g, ""],
  [/\bthe key that store\.migration gives it: call migrate\(\)/g, "its key: run leasehold migrate"],
  [/\bcall migrate\(\)/g, "run leasehold migrate"],
  [/\bmigrate\(\)/g, "leasehold migrate"],
  [/\bcall (?:leadership\.)?checkpoint\(\)/g, "send POST /checkpoint"],
  [/\b(?:leadership\.)?checkpoint\(\)/g, "POST /checkpoint"],
  [/\bleadership\.signal\b/g, "its stop signal"],
  [/\bminTerm\b/g, "--min-term"],
  [/\bleaseDurationMs\b/g, "--lease"],
  [/\bstallTimeoutMs\b/g, "--stall"],
  [/\bdrainTimeoutMs\b/g, "--grace"],
];

/** Replaces the library's names in a message, because users of this command may not know them. */
export function inCommandWords(text: string): string {
  return RULES.reduce((rest, [library, command]) => rest.replace(library, command), text);
}
