import type { Logger } from "@leasehold/core";
import type { LogAttributes } from "@leasehold/core/provider";

/** A logger that keeps its lines. */
export class Lines implements Logger {
  readonly all: Array<{ readonly level: keyof Logger; readonly message: string; readonly attributes: LogAttributes }> = [];
  readonly debug = this.#at("debug");
  readonly info = this.#at("info");
  readonly warn = this.#at("warn");
  readonly error = this.#at("error");

  /** The messages of level warn or error. */
  get warnings(): string[] {
    return this.of("warn", "error");
  }

  of(...levels: ReadonlyArray<keyof Logger>): string[] {
    return this.all.filter(({ level }) => levels.includes(level)).map(({ message }) => message);
  }

  #at(level: keyof Logger): (message: string, attributes?: LogAttributes) => void {
    return (message, attributes = {}) => this.all.push({ level, message, attributes });
  }
}
