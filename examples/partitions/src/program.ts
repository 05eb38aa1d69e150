/** Runs a program to its end. Prints an error as one line, and sets exit code 1. */
export async function runProgram(program: () => Promise<void>): Promise<void> {
  try {
    await program();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
