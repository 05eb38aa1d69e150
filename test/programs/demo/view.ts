import type { DemoEvent } from "./demo-event.ts";

/** Shows the demo while it runs. Disposing of it leaves the terminal as it was. */
export interface View extends Disposable {
  show(event: DemoEvent): void;
}
