/**
 * How comments and Markdown are written, as far as a program can judge it: CONTRIBUTING.md, "Plain language", has the rules.
 * `BUDGET` is what is left of what was there before the rules; it may only fall.
 */
export const BUDGET: Readonly<Record<Fault["rule"], number>> = { begins: 0, long: 1, coined: 0 };

/** The pages for users may have so many words together, and so may each of them, beside code and headings. They may only fall. */
export const WORDS = { together: 30_000, page: 1_400 } as const;

/** One place that breaks a rule. `begins`: by its first word. `long`: more than 25 words. `coined`: a word of our own. */
export interface Fault {
  readonly rule: "begins" | "long" | "coined";
  readonly line: number;
  readonly text: string;
}

const RULES: Readonly<Record<Fault["rule"], string>> = {
  begins: "a sentence begins with Who, What, Whoever, Nobody, That or Whether",
  long: "a sentence has more than 25 words",
  coined: "a word is used in a sense of our own",
};

/** One paragraph of prose: a comment block, or a paragraph, list item or table cell of Markdown. */
interface Paragraph {
  readonly line: number;
  readonly text: string;
}

const MOST_WORDS = 25;
const BEGINS = /^(?:Who|What|Whoever|Nobody|That|Whether)\b/;
/** Words that only this project ever used in their sense, and the word to use. Everyday words are for the reader to judge. */
const COINED: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(?:tenures?|reigns?|reigned|reigning)\b/i, "term, or LeaderTerm"],
  [/\b(?:hand-?overs?|hands? over|handed over|handing over)\b/i, "transfer"],
  [/\b(?:undated|re-?dated?|redating)\b/i, "age unknown; restart the age"],
  [/\b(?:contenders?)\b/i, "candidate"],
  [/\b(?:sightings?)\b/i, "observation, or read"],
  [/\b(?:setbacks?)\b/i, "backoff, or failure"],
  [/\b(?:stands? back|standing back|stood back)\b/i, "cooldown"],
  [/\b(?:barred|bars)\b/i, "block, blocker"],
  [/\b(?:a|the|each|every|next|first|one|its|last|this|per|of) looks?\b/i, "poll, or read"],
  [/\b(?:discreet|discreetly)\b/i, "redact"],
  [/\b(?:mishaps?|bystanders?|aftermath|still-point)\b/i, "fault; other processes; after the faults"],
];

/** The faults of a file's prose. `isMarkdown` says which kind it is; else it is TypeScript, of which comments count. */
export function faultsOf(source: string, isMarkdown: boolean): Fault[] {
  const paragraphs = isMarkdown ? paragraphsOfMarkdown(source) : paragraphsOfComments(source);
  return paragraphs.flatMap(({ line, text }) => {
    const plain = text.replaceAll(/`[^`]*`/g, "`x`").replaceAll(/\]\([^)]*\)/g, "]");
    const found: Fault[] = COINED.flatMap(([word, instead]) => {
      const hit = word.exec(plain)?.[0];
      return hit === undefined ? [] : [{ rule: "coined" as const, line, text: `${hit} (use: ${instead})` }];
    });
    for (const sentence of sentencesOf(plain)) {
      // A question may begin with any word.
      if (BEGINS.test(sentence) && !sentence.endsWith("?")) found.push({ rule: "begins", line, text: sentence });
      const words = sentence.split(/\s+/).length;
      if (words > MOST_WORDS) found.push({ rule: "long", line, text: `${words} words: ${sentence}` });
    }
    return found;
  });
}

/** Returns a line for each rule that more places break than the budget allows. The line says how to list these places. */
export function overBudget(counts: typeof BUDGET, budget: typeof BUDGET): string[] {
  return (Object.keys(RULES) as Array<Fault["rule"]>)
    .filter((rule) => counts[rule] > budget[rule])
    .map(
      (rule) =>
        `Rule '${rule}' (${RULES[rule]}): ${counts[rule]} places break it, ${counts[rule] - budget[rule]} more than the budget. ` +
        "List the places in the files that you have changed: npm run prose -- $(git diff --name-only origin/main)",
    );
}

/** Counts the words of a page of Markdown, without code blocks, headings and the targets of links. */
export function wordsOf(page: string): number {
  return paragraphsOfMarkdown(page)
    .map(({ text }) => text.replaceAll(/\]\([^)]*\)/g, "]").match(/[\w`][\w`'’.-]*/g)?.length ?? 0)
    .reduce((sum, words) => sum + words, 0);
}

function sentencesOf(text: string): string[] {
  return text
    .split(/(?<=[.!?][)"”*_]*)\s+(?=["“(*_[]*[A-Z`])|(?<=:)\s+(?=[A-Z])/)
    .map((sentence) => sentence.replace(/^[\s*_"“([-]+/, "").trim())
    .filter((sentence) => sentence !== "");
}

function paragraphsOfComments(source: string): Paragraph[] {
  const paragraphs: Paragraph[] = [];
  let open: { line: number; words: string[] } | undefined;
  let isInBlock = false;
  let isInExample = false;
  const close = (): void => {
    if (open !== undefined) paragraphs.push({ line: open.line, text: open.words.join(" ") });
    open = undefined;
  };
  for (const [at, line] of source.split("\n").entries()) {
    const trimmed = line.trim();
    const trailing = /[;,{}()[\]]\s+\/\/ (.*)$/.exec(line)?.[1];
    let text: string | undefined;
    if (isInBlock || trimmed.startsWith("/*")) {
      text = trimmed
        .replace(/^\/\*+\s?/, "")
        .replace(/\*+\/.*$/, "")
        .replace(/^\*\s?/, "")
        .trim();
      isInBlock = !trimmed.includes("*/");
    } else if (trimmed.startsWith("//")) {
      text = trimmed.slice(2).trim();
    } else if (trailing !== undefined) {
      close();
      paragraphs.push({ line: at + 1, text: trailing });
      continue;
    }
    if (text?.startsWith("```")) isInExample = !isInExample;
    const isProse = text !== undefined && text !== "" && !isInExample && !/^(?:```|oxlint-|@ts-|eslint-|\|)/.test(text);
    if (!isProse || /^(?:[-*] |@\w+)/.test(text ?? "")) close();
    if (isProse) {
      open ??= { line: at + 1, words: [] };
      open.words.push((text ?? "").replace(/^(?:[-*] |@(?:param|returns?|throws|typeParam|remarks)\b( \w+ -)?)\s*/, ""));
    }
    if (trimmed.endsWith("*/")) close();
  }
  close();
  return paragraphs;
}

function paragraphsOfMarkdown(source: string): Paragraph[] {
  const paragraphs: Paragraph[] = [];
  let open: { line: number; words: string[] } | undefined;
  let isCode = false;
  const close = (): void => {
    if (open !== undefined) paragraphs.push({ line: open.line, text: open.words.join(" ") });
    open = undefined;
  };
  for (const [at, line] of source.split("\n").entries()) {
    const trimmed = line.trim();
    if (/^(?:```|~~~)/.test(trimmed)) isCode = !isCode;
    const isProse = !isCode && trimmed !== "" && !/^(?:```|~~~|#|<|!\[|\[!\[)/.test(trimmed);
    if (!isProse || /^(?:[-*+] |\d+\. |\|)/.test(trimmed)) close();
    if (!isProse) continue;
    if (trimmed.startsWith("|")) {
      paragraphs.push(...trimmed.split(/(?<!\\)\|/).map((cell) => ({ line: at + 1, text: cell.trim() })));
      continue;
    }
    open ??= { line: at + 1, words: [] };
    open.words.push(trimmed.replace(/^(?:[-*+] |\d+\. |> ?)+/, ""));
  }
  close();
  return paragraphs;
}
