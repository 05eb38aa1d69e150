/** An error of the command itself, not of the library: one sentence for people, and an exit code for supervisors. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.name = "Failure";
    this.exitCode = exitCode;
  }
}
