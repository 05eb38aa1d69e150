/** The disk of one server: a text that is replaced as a whole. */
export interface Disk {
  /** What was written last; undefined where there is nothing, or nothing whole. */
  read(): Promise<string | undefined>;
  /** Resolves once it can no longer be lost. */
  write(text: string): Promise<void>;
}
