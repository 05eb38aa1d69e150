import type { DemoEvent } from "./demo-event.ts";
import type { View } from "./view.ts";

/** Prints every event as one line of JSON. */
export class JsonLines implements View {
  show(event: DemoEvent): void {
    process.stdout.write(`${JSON.stringify(event)}\n`);
  }

  [Symbol.dispose](): void {
    // There is nothing to close.
  }
}
