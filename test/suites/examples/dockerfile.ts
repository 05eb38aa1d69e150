import { execFile } from "node:child_process";
import { cp, glob, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { DockerfileParser, type Copy, type Instruction } from "dockerfile-ast";
import { validate } from "dockerfile-utils";
import { EXAMPLES } from "./workshop.ts";

/** The instructions for starting a container. They do not change the content of the image. */
const RUNNING: readonly string[] = ["CMD", "EXPOSE", "HEALTHCHECK"];

/**
 * A Dockerfile of an example: its faults, and its effects without containers. A stage is a folder here, which replaces `/app`.
 * The base image is this machine.
 */
export class Dockerfile {
  readonly #text: string;
  readonly #instructions: readonly Instruction[];

  constructor(text: string) {
    this.#text = text;
    this.#instructions = DockerfileParser.parse(text).getInstructions();
  }

  /** Reads the Dockerfile of an example. */
  static async of(example: string): Promise<Dockerfile> {
    return new Dockerfile(await readFile(join(EXAMPLES, example, "Dockerfile"), "utf8"));
  }

  /** The instructions that decide the content of the image. */
  get building(): string[] {
    return this.#instructions
      .filter((each) => !RUNNING.includes(each.getKeyword()))
      .map((each) => `${each.getKeyword()} ${each.getRawArgumentsContent() ?? ""}`);
  }

  /** The linter's findings, and three checks of our own: the user, the form of CMD, and the version of the base image. */
  get faults(): string[] {
    const lastFrom = this.#instructions.findLastIndex((each) => each.getKeyword() === "FROM");
    const user =
      this.#instructions
        .slice(lastFrom)
        .findLast((each) => each.getKeyword() === "USER")
        ?.getArgumentsContent() ?? "root";
    const bases = this.#named("FROM").map((each) => each.getArguments()[0]?.getValue() ?? "");
    return [
      ...validate(this.#text).map(({ message }) => (typeof message === "string" ? message : message.value)),
      ...(/^(root|0)(:|$)/.test(user) ? ["It runs as root."] : []),
      ...(this.command[0] === "node" ? [] : ["CMD is not node, in the form of an array: something else would get the signals."]),
      ...bases.filter((base) => !/:(?!latest)/.test(base)).map((base) => `${base} names no version.`),
    ];
  }

  /** The program of its CMD. */
  get command(): [string, ...string[]] {
    return wordsOf(this.#named("CMD")[0]);
  }

  /** The program of its HEALTHCHECK. */
  get healthCommand(): [string, ...string[]] {
    return wordsOf(this.#named("HEALTHCHECK")[0]);
  }

  /**
   * Carries out its COPYs and RUNs in folders below `into`, one for each stage.
   * @param prepare called with the folder of each stage at its beginning.
   * @returns the folder of the last stage.
   */
  async build(context: string, into: string, prepare: (stage: string) => Promise<void>): Promise<string> {
    const stages = new Map<string, string>();
    let stage = "";
    for (const instruction of this.#instructions) {
      const words = instruction.getArguments().map((each) => each.getValue());
      if (instruction.getKeyword() === "FROM") {
        stage = join(into, `stage-${stages.size}`);
        stages.set(words[2] ?? "", stage);
        await mkdir(stage, { recursive: true });
        await prepare(stage);
      } else if (instruction.getKeyword() === "COPY") {
        const from = (instruction as Copy).getFromFlag()?.getValue();
        await copy(from ? (stages.get(from) ?? "") : context, words.slice(0, -1), join(stage, words.at(-1)!));
      } else if (instruction.getKeyword() === "RUN") {
        await promisify(execFile)("sh", ["-c", instruction.getArgumentsContent()!], { cwd: stage });
      }
    }
    return stage;
  }

  #named(keyword: string): readonly Instruction[] {
    return this.#instructions.filter((each) => each.getKeyword() === keyword);
  }
}

/** Copies like COPY: the content of a folder, or files into a folder that ends in a slash. @throws if a source is missing. */
async function copy(from: string, sources: readonly string[], to: string): Promise<void> {
  for (const source of sources) {
    const found = await Array.fromAsync(glob(source.replace(/^\/app\//, ""), { cwd: from }));
    if (found.length === 0) throw new Error(`COPY finds no ${source}.`);
    for (const name of found) {
      // A link stays a link, and leads to the file that was copied with it.
      await cp(join(from, name), to.endsWith("/") ? join(to, name) : to, { recursive: true, verbatimSymlinks: true });
    }
  }
}

/** Returns the words of a command in the form of an array. A command for a shell is one word. */
function wordsOf(instruction: Instruction | undefined): [string, ...string[]] {
  const text = (instruction?.getArgumentsContent() ?? "").replace(/^CMD /, "");
  return text.startsWith("[") ? (JSON.parse(text) as [string, ...string[]]) : [text];
}
