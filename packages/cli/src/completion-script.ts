import type { Option } from "commander";

/** A verb, as completion offers it. */
export interface CompletedVerb {
  readonly name: string;
  readonly summary: string;
  /** The words that one of its arguments may be. */
  readonly choices: readonly string[];
  readonly options: readonly Option[];
}

/** Returns the script that makes a shell complete the command's verbs and options. */
export const COMPLETION_SCRIPTS: Readonly<Record<string, (verbs: readonly CompletedVerb[]) => string>> = { bash, zsh, fish };

/** After a verb it offers that verb's options. After `--` of `run` it offers files, as for the command that follows. */
function bash(verbs: readonly CompletedVerb[]): string {
  return `_leasehold() {
  local word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words="" at
  for ((at = 1; at < COMP_CWORD; at++)); do [ "\${COMP_WORDS[at]}" = "--" ] && { COMPREPLY=($(compgen -f -- "$word")); return; }; done
  case "$previous" in
${choicesOf(verbs)
  .map(([flag, choices]) => `    ${flag}) COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$word")); return ;;\n`)
  .join("")}    --store-file | --token-file) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  case "\${COMP_WORDS[1]}" in
${verbs.map((verb) => `    ${verb.name}) words="${wordsOf(verb).join(" ")}" ;;\n`).join("")}  esac
  [ "$COMP_CWORD" -eq 1 ] && words="${verbs.map(({ name }) => name).join(" ")}"
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _leasehold leasehold
`;
}

function zsh(verbs: readonly CompletedVerb[]): string {
  return `#compdef leasehold
_leasehold() {
  local -a verbs
  verbs=(
${verbs.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}\n`).join("")}  )
  if ((CURRENT == 2)); then _describe verb verbs; return; fi
  if ((\${words[(I)--]})); then _files; return; fi
  case "$words[2]" in
${verbs.map((verb) => `    ${verb.name}) _arguments ${verb.options.map((option) => quoted(zshSpec(option))).join(" ")}${verb.choices.length > 0 ? ` ${quoted(`1: :(${verb.choices.join(" ")})`)}` : ""} '*: :_files' ;;\n`).join("")}  esac
}
if [ "$funcstack[1]" = "_leasehold" ]; then _leasehold "$@"; else compdef _leasehold leasehold; fi
`;
}

function zshSpec({ long, description, argChoices, required }: Option): string {
  const value = required ? `: :${argChoices ? `(${argChoices.join(" ")})` : "_files"}` : "";
  return `*${long}[${description.replaceAll(/[[\]:\\]/g, "\\$&")}]${value}`;
}

function fish(verbs: readonly CompletedVerb[]): string {
  const lines = verbs.flatMap(({ name, summary, choices, options }) => [
    `complete -c leasehold -f -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`,
    ...choices.map((choice) => `complete -c leasehold -f -n '__fish_seen_subcommand_from ${name}' -a ${choice}`),
    ...options.map(({ long = "", description, required, argChoices }) => {
      const value = required ? ` -r${argChoices ? ` -f -a ${fishQuoted(argChoices.join(" "))}` : ""}` : "";
      return `complete -c leasehold -n '__fish_seen_subcommand_from ${name}' -l ${long.slice(2)}${value} -d ${fishQuoted(description)}`;
    }),
  ]);
  return `${lines.join("\n")}\n`;
}

function wordsOf({ choices, options }: CompletedVerb): readonly string[] {
  return [...choices, ...options.map(({ long = "" }) => long)];
}

/** Returns the options whose value is one of a few, each once. */
function choicesOf(verbs: readonly CompletedVerb[]): ReadonlyArray<readonly [string, readonly string[]]> {
  const options = verbs.flatMap((verb) => verb.options);
  return [...new Map(options.flatMap(({ long, argChoices }) => (long && argChoices ? [[long, argChoices] as const] : [])))];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, "\\$&")}'`;
}
