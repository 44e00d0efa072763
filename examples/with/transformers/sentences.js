/** Messages, and the department that each is for. */
export const DEPARTMENTS = ['delivery', 'payment', 'returns'];
export const SENTENCES = [
  ['Where is my parcel?', 'delivery'],
  ['My parcel has not arrived yet.', 'delivery'],
  ['The courier left the box at the wrong door.', 'delivery'],
  ['When will the order arrive?', 'delivery'],
  ['You charged my card twice.', 'payment'],
  ['Can I pay by invoice?', 'payment'],
  ['The card payment was declined.', 'payment'],
  ['The invoice shows the wrong amount.', 'payment'],
  ['I want to send the shoes back.', 'returns'],
  ['How do I return a broken lamp?', 'returns'],
  ['I would like to exchange it for a larger size.', 'returns'],
  ['The lamp is broken, I want to return it.', 'returns'],
];
