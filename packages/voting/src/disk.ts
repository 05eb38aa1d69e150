/** The disk of one server. It holds one text, which is replaced as a whole. */
export interface Disk {
  /** The text that was written last; undefined if there is none, or if it is not intact. */
  read(): Promise<string | undefined>;
  /** Resolves once the text can no longer be lost. */
  write(text: string): Promise<void>;
}
