import type { Logger } from "@leasehold/core";
import { isoOf } from "@leasehold/core/provider";
import { Option, type Command } from "commander";
import type { ProcessEnvironment } from "./verb.ts";
import { messageText, teller, withoutPasswords } from "./text.ts";

interface Options {
  readonly quiet: boolean;
  readonly verbose?: true;
  readonly log: "text" | "json";
}

/** The messages of a verb that runs for long. Each is a line on stderr. */
export interface Log {
  /** Prints a line about the normal course. Silent with `--quiet`. */
  readonly inform: (line: string) => void;
  /** Prints a line about something that has gone wrong. */
  readonly tell: (line: string) => void;
  /** For the library: its warnings and errors and, with `--verbose`, what it does. */
  readonly logger: Logger;
}

/** Adds the options of {@link logOf}. */
export function addLogOptions(command: Command): Command {
  return command
    .option("--quiet", "say only what has gone wrong", false)
    .addOption(new Option("--verbose", "say what the library does, too").conflicts("quiet"))
    .addOption(new Option("--log <format>", "the messages on stderr").choices(["text", "json"]).default("text"));
}

/** Returns the log of a verb that has the options of {@link addLogOptions}. */
export function logOf(command: Command, environment: ProcessEnvironment): Log {
  const { quiet, verbose, log } = command.opts<Options>();
  const { stderr, clock } = environment;
  const tell = teller(environment);
  const at =
    (level: keyof Logger, isShown: boolean): Logger["info"] =>
    (message, attributes = {}) => {
      if (!isShown) return;
      if (log === "text") tell(message);
      else stderr.write(jsonLine(clock.wallMs(), level, messageText(message), attributes));
    };
  const [inform, warn] = [at("info", !quiet), at("warn", true)];
  return {
    inform: (line) => inform(line),
    tell: (line) => warn(line),
    logger: {
      debug: at("debug", verbose === true),
      info: at("info", verbose === true),
      warn,
      error: at("error", true),
    },
  };
}

/** The format of the messages on stderr that no {@link Log} prints. */
export class LogFormat {
  #isJson: boolean;

  /** Guesses the format from the arguments, because no verb has parsed them yet. */
  constructor(args: readonly string[]) {
    const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
    this.#isJson = own.includes("--log=json") || own.some((argument, at) => argument === "--log" && own[at + 1] === "json");
  }

  get isJson(): boolean {
    return this.#isJson;
  }

  /** Replaces the guess by the parsed option. The guess may be wrong: the arguments may include those of the command to run. */
  parsed(command: Command): void {
    this.#isJson = command.opts<Partial<Options>>().log === "json";
  }
}

/** Returns a function that makes a line of a message of this command, in the format at that time. */
export function lineMaker(format: LogFormat, wallMs: () => number): (message: string) => string {
  return (message) => (format.isJson ? jsonLine(wallMs(), "warn", message, {}) : `leasehold: ${message}\n`);
}

/** Returns a line of `--log json`, without passwords. An attribute cannot replace the time, the level or the message. */
export function jsonLine(wallMs: number, level: keyof Logger, message: string, attributes: object): string {
  const redacted = Object.entries(attributes).map(([name, value]): [string, unknown] => [
    name,
    typeof value === "string" ? withoutPasswords(value) : value,
  ]);
  return `${JSON.stringify({ ...Object.fromEntries(redacted), time: isoOf(wallMs), level, message })}\n`;
}
