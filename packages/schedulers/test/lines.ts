import type { Logger } from "@leasehold/core";

/** A logger that keeps warnings. */
export class Lines implements Logger {
  readonly warnings: string[] = [];
  debug(): void {}
  info(): void {}
  warn(message: string): void {
    this.warnings.push(message);
  }
  error(message: string): void {
    this.warnings.push(message);
  }
}
