/** Something that runs scripts which call tools. */
export interface Contender {
  readonly name: string
  run(source: string, tools: Readonly<Record<string, (input: any) => unknown>>): Promise<unknown>
  close(): Promise<void>
}
