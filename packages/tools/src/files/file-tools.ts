import { editTool } from './edit.ts'
import { globTool } from './glob.ts'
import { grepTool } from './grep.ts'
import { readTool } from './read.ts'
import { writeTool } from './write.ts'

/** The built-in tools for files: read, write, edit, glob and grep. `bashTool` runs commands. */
export const fileTools: readonly [
  typeof readTool,
  typeof writeTool,
  typeof editTool,
  typeof globTool,
  typeof grepTool,
] = [readTool, writeTool, editTool, globTool, grepTool]
