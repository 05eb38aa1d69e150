import type { DemoEvent } from "./demo-event.ts";

/** Shows the demo while it runs. Its disposal restores the terminal. */
export interface View extends Disposable {
  show(event: DemoEvent): void;
}
