import type { LogAttributes, Logger, LogLevel } from "@leasehold/core";

/** A logger that keeps its lines. */
export class Lines implements Logger {
  readonly all: Array<{ readonly level: LogLevel; readonly message: string; readonly attributes: LogAttributes }> = [];
  readonly debug = this.#at("debug");
  readonly info = this.#at("info");
  readonly warn = this.#at("warn");
  readonly error = this.#at("error");

  /** The messages of level warn or error. */
  get warnings(): string[] {
    return this.of("warn", "error");
  }

  of(...levels: readonly LogLevel[]): string[] {
    return this.all.filter(({ level }) => levels.includes(level)).map(({ message }) => message);
  }

  #at(level: LogLevel): (message: string, attributes?: LogAttributes) => void {
    return (message, attributes = {}) => this.all.push({ level, message, attributes });
  }
}
