export type { ChatMessage, ChatMetadata, ChatTools } from './chat/chat-message.ts'
export type { ChatTransportOptions } from './chat/chat-transport.ts'
export { chatTransport } from './chat/chat-transport.ts'
